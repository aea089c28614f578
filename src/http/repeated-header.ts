const uniqueHeaders: readonly string[] = ['host', 'content-type', 'authorization']
/** A bit for each of their lengths. */
const uniqueLengths = uniqueHeaders.reduce((bits, { length }) => bits | 1 << length, 0)

/**
 * Finds a repeated header that must be unique (RFC 9112, section 3.2; RFC 9110, section 5.3). Node keeps the first
 * value and a proxy may keep the last, so the two could decide on different values.
 * @param except a header that may be repeated
 */
export function repeatedHeader (rawHeaders: readonly string[], except?: string): string | undefined {
  let lengths = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] ?? ''
    const bit = header.length < 32 ? uniqueLengths & 1 << header.length : 0
    // Only two of the same length are compared: a conversion of each to lower case takes 1 % of a create request.
    if ((lengths & bit) !== 0) {
      const name = header.toLowerCase()
      if (name !== except && uniqueHeaders.includes(name) && isAmong(rawHeaders.slice(0, i), name)) return name
    }
    lengths |= bit
  }
  return undefined
}

function isAmong (rawHeaders: readonly string[], name: string): boolean {
  return rawHeaders.some((header, i) => i % 2 === 0 && header.length === name.length && header.toLowerCase() === name)
}
