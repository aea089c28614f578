import { timingSafeEqual } from 'node:crypto'

/** What a bearer token is made of: `b64token` of RFC 6750, section 2.1. */
export const b64token = /^[A-Za-z0-9\-._~+/]+=*$/

/**
 * A set of accepted tokens, compared in constant time: how long a refusal takes tells nothing but whether a token is
 * longer than the longest accepted one.
 */
export class BearerTokens {
  readonly #accepted: readonly Buffer[]
  readonly #presented: Buffer

  /** @throws {TypeError} where there is no token, or one that is no `b64token`; the message never holds a token */
  constructor (tokens: Iterable<string>) {
    const unique = [...new Set(tokens)]
    if (unique.length === 0) throw new TypeError('there must be at least one access token')
    unique.forEach((token, index) => {
      if (typeof token !== 'string' || !b64token.test(token)) {
        throw new TypeError(`access token ${index + 1} of ${unique.length} is no b64token (RFC 6750, section 2.1): use letters, digits and -._~+/ only`)
      }
    })
    const length = Math.max(...unique.map(token => token.length))
    this.#presented = Buffer.alloc(length)
    this.#accepted = unique.map(token => {
      const padded = Buffer.alloc(length)
      padded.write(token, 'latin1')
      return padded
    })
  }

  readonly accepts = (token: string): boolean => {
    const presented = this.#presented
    if (token.length > presented.length) return false
    // A token never holds a NUL, so padding cannot make two of them equal.
    presented.fill(0)
    presented.write(token, 'latin1')
    let accepted = false
    for (const candidate of this.#accepted) {
      if (timingSafeEqual(candidate, presented)) accepted = true
    }
    return accepted
  }
}
