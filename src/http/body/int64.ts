/**
 * Whether JSON text may contain a number with a fraction or an exponent, whose digits JSON.parse may lose and return
 * an integer. It may return true for other text (a name can look like such a number), never false for such a number.
 */
export function mayHaveFraction (json: string): boolean {
  return /\d[.eE]/.test(json)
}

/**
 * The literal of a number in an object, exactly as the JSON text spells it. Of duplicate members the last counts, as in
 * JSON.parse.
 * @param json text that JSON.parse accepted, with an object at its top, of any depth
 * @returns undefined if the member is not a number
 */
export function numberLiteral (json: string, member: string): string | undefined {
  const value = /\s*:\s*(-?\d[\d.eE+-]*)?/y
  let literal: string | undefined
  let depth = 0
  for (let i = 0; i < json.length; i++) {
    const character = json[i]
    if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    else if (character === '"') {
      const start = i
      for (i++; json[i] !== '"'; i++) if (json[i] === '\\') i++
      value.lastIndex = i + 1
      const found = depth === 1 ? value.exec(json) : null
      if (found !== null && JSON.parse(json.slice(start, i + 1)) === member) literal = found[1]
    }
  }
  return literal
}

/**
 * The value of a JSON number (RFC 8259, section 6) as an integer, in any spelling: `1.0` and `1e3` are integers.
 * @returns undefined if it is not a number, not an integer, or has more than 19 digits
 */
export function exactInteger (literal: string): bigint | undefined {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal)
  if (parts === null) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts
  const digits = whole + fraction
  let start = 0
  let end = digits.length
  while (start < end && digits[start] === '0') start++
  while (end > start && digits[end - 1] === '0') end--
  if (start === end) return 0n

  const zeros = Number(exponent) - fraction.length + digits.length - end
  if (zeros < 0 || end - start + zeros > 19) return undefined
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros))
}
