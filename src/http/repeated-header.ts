/** Indexed by length, which rules out nearly all other headers without a comparison. */
const uniqueHeaders: readonly (string | undefined)[] = Object.assign([], {
  4: 'host', 12: 'content-type', 13: 'authorization'
})

/**
 * Finds a repeated header that must be unique (RFC 9112, section 3.2; RFC 9110, section 5.3). Node keeps the first
 * value and a proxy may keep the last, so the two could decide on different values.
 * @param except a header that may be repeated
 */
export function repeatedHeader (rawHeaders: readonly string[], except?: string): string | undefined {
  let seen = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] ?? ''
    const name = uniqueHeaders[header.length]
    if (name === undefined || header.toLowerCase() !== name) continue
    const mask = 1 << header.length
    if ((seen & mask) !== 0 && name !== except) return name
    seen |= mask
  }
  return undefined
}
