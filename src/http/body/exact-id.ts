/**
 * The id of a JSON body as an integer, exact to the last digit, in any spelling: `1.0` and `1e3` are integers.
 * @param id what JSON.parse has read
 * @param json the text that it has read, with an object at its top, of any depth
 * @returns `id` itself if it is not an integer, or has more than 19 digits
 */
export function exactId (id: number, json: string): bigint | number {
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
  const sign = literal.startsWith('-') ? '-' : ''
  const [mantissa = '', exponent = '0'] = literal.slice(sign.length).split(/[eE]/)
  const [whole = '', fraction = ''] = mantissa.split('.')
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
