import { isUtf8 } from 'node:buffer'
import type { FastifyBodyParser } from 'fastify'
import secureJson from 'secure-json-parse'
import { ApiError } from './api-error.js'
import { exactInteger, mayHaveFraction, numberLiteral } from './exact-integer.js'

/**
 * Reads a JSON body (RFC 8259) without losing anything: bytes that are no UTF-8 are refused instead of replaced,
 * poisoned keys (`__proto__`, `constructor.prototype`) are refused, and an integer `id` becomes a bigint, to the digit.
 * An `id` that is no integer stays what it is, for the validator to refuse.
 */
export const parsePlantBody: FastifyBodyParser<Buffer> = (request, bytes, done) => {
  if (request.headers['content-encoding'] !== undefined) return done(new ApiError('mediaTypeUnsupported'))
  if (bytes.length === 0) return done(new ApiError('bodyMissing'))
  if (!isUtf8(bytes)) return done(new ApiError('bodyNotJson', 'The body is not well-formed UTF-8: send JSON in UTF-8'))

  const json = bytes.toString()
  let body
  try {
    body = secureJson.parse(json)
  } catch (error) {
    return done(new ApiError('bodyNotJson', `The body is not acceptable JSON: ${(error as SyntaxError).message}`))
  }
  if (body !== null && typeof body.id === 'number') body.id = exactId(body.id, json)
  done(null, body)
}

function exactId (id: number, json: string): bigint | number {
  // A safe integer that is written in digits alone is what JSON.parse makes of it.
  if (Number.isSafeInteger(id) && !mayHaveFraction(json)) return BigInt(id)
  return exactInteger(numberLiteral(json, 'id') ?? '') ?? id
}
