/**
 * Whether JSON text could hold a number with a fraction or an exponent, of which JSON.parse may keep less than all digits
 * and show an integer. It may say yes too often (a name may look like such a number), never no.
 */
export function mayHaveFraction (json: string): boolean {
  return /\d[.eE]/.test(json)
}

/**
 * The number that an object's member has in JSON text, as it is written there; of duplicates the last, as in JSON.parse.
 * @param json text that JSON.parse accepted, with an object at its top, of any depth
 * @returns undefined where the member is no number
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
 * The integer that a JSON number (RFC 8259, section 6) stands for, however it is written: `1.0` and `1e3` are integers.
 * @returns undefined where it is no number, no integer, or has more than 19 digits
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
