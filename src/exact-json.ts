import { isUtf8 } from 'node:buffer'
import secureJson from 'secure-json-parse'
import { messageOf } from './error-message.js'
import { ApiError } from './api-error.js'

/**
 * Parses a JSON body (RFC 8259) without losing anything. Bytes that are not UTF-8 are refused, not replaced; poisoned
 * keys (`__proto__`, `constructor.prototype`) are refused; an integer `id` becomes a bigint, exact to the last digit.
 * @throws {ApiError} `bodyMissing`, `bodyNotJson`, or `plantInvalid` for `null`, which to a validator is no body
 */
export function parseExactJson (bytes: Buffer): unknown {
  if (bytes.length === 0) throw new ApiError('bodyMissing')
  if (!isUtf8(bytes)) throw new ApiError('bodyNotJson', 'The body is not well-formed UTF-8: send JSON in UTF-8')

  const text = bytes.toString()
  let body
  try {
    body = secureJson.parse(text)
  } catch (error) {
    throw new ApiError('bodyNotJson', `The body is not acceptable JSON: ${messageOf(error)}`)
  }
  if (body === null) throw new ApiError('plantInvalid')
  if (typeof body.id === 'number') body.id = exactId(body.id, text)
  return body
}

/**
 * The id of a JSON object as an integer, exact to the last digit, in any spelling: `1.0` and `1e3` are integers.
 * @param id what JSON.parse has read; returned if it is not an integer, or has more than 19 digits
 */
function exactId (id: number, json: string): bigint | number {
  // JSON.parse reads a safe integer exactly, unless it has a fraction or an exponent. A name can look like one.
  if (Number.isSafeInteger(id) && !/\d[.eE]/.test(json)) return BigInt(id)
  return integerOf(idLiteral(json)) ?? id
}

/** The number in the member `id`, as the text spells it. Of duplicate members the last counts, as in JSON.parse. */
function idLiteral (json: string): string {
  const number = /\s*:\s*(-?\d[\d.eE+-]*)/y
  let literal = ''
  let depth = 0
  for (let i = 0; i < json.length; i++) {
    const character = json[i]
    if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    else if (character === '"') {
      const start = i
      for (i++; json[i] !== '"'; i++) if (json[i] === '\\') i++
      number.lastIndex = i + 1
      const found = depth === 1 ? number.exec(json)?.[1] : undefined
      if (found !== undefined && JSON.parse(json.slice(start, i + 1)) === 'id') literal = found
    }
  }
  return literal
}

/** The value of a JSON number (RFC 8259, section 6); undefined if it is not an integer, or has more than 19 digits. */
function integerOf (literal: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent] = /^(-?)(\d+)\.?(\d*)[eE]?(.*)$/.exec(literal) ?? []
  const [, digits, zeros = ''] = /^0*(\d*[1-9])?(0*)$/.exec(whole + fraction) ?? []
  if (digits === undefined) return 0n
  const more = Number(exponent) - fraction.length + zeros.length
  return more < 0 || digits.length + more > 19 ? undefined : BigInt(sign + digits + '0'.repeat(more))
}
