const uniqueHeaders: readonly string[] = ['host', 'content-type', 'authorization']
/** A bit for each of their lengths; a length of 32 or more counts as its remainder. */
const uniqueLengths = uniqueHeaders.reduce((bits, { length }) => bits | 1 << length, 0)

/**
 * Finds a repeated header that must be unique (RFC 9112, section 3.2; RFC 9110, section 5.3). Node keeps the first
 * value and a proxy may keep the last, so the two could decide on different values.
 * @param except a header that may be repeated
 */
export function repeatedHeader (rawHeaders: readonly string[], except?: string): string | undefined {
  let lengths = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const bit = uniqueLengths & 1 << (rawHeaders[i]?.length ?? 0)
    // Only names of the same length are compared: converting each to lower case takes 1 % of a create request.
    if ((lengths & bit) !== 0) {
      const name = rawHeaders[i]?.toLowerCase() ?? ''
      // A unique name is looked for at most twice, however many headers there are.
      const isUnique = name !== except && uniqueHeaders.includes(name)
      if (isUnique && rawHeaders.some((other, j) => j < i && j % 2 === 0 && other.toLowerCase() === name)) return name
    }
    lengths |= bit
  }
  return undefined
}
