import { isUtf8 } from 'node:buffer'
import secureJson from 'secure-json-parse'
import { ApiError } from './api-error.js'
import { exactInteger, mayHaveFraction, numberLiteral } from './exact-integer.js'

/**
 * Parses a JSON body (RFC 8259) without losing anything: bytes that are no UTF-8 are refused instead of replaced,
 * poisoned keys (`__proto__`, `constructor.prototype`) are refused, and an integer `id` becomes a bigint, to the digit.
 * An `id` that is no integer stays what it is, for the validator to refuse.
 * @throws {ApiError} `bodyNotJson`
 */
export function parsePlantBody (bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError('bodyNotJson', 'The body is not well-formed UTF-8: send JSON in UTF-8')

  const json = bytes.toString()
  let body
  try {
    body = secureJson.parse(json)
  } catch (error) {
    throw new ApiError('bodyNotJson', `The body is not acceptable JSON: ${(error as SyntaxError).message}`)
  }
  if (body !== null && typeof body.id === 'number') body.id = exactId(body.id, json)
  return body
}

function exactId (id: number, json: string): bigint | number {
  // A safe integer that is written in digits alone is what JSON.parse makes of it.
  if (Number.isSafeInteger(id) && !mayHaveFraction(json)) return BigInt(id)
  return exactInteger(numberLiteral(json, 'id') ?? '') ?? id
}
