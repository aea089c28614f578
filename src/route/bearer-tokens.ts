import { timingSafeEqual } from 'node:crypto'

/** The syntax of a bearer token: `b64token` of RFC 6750, section 2.1. */
export const b64token = /^[A-Za-z0-9\-._~+/]+=*$/

/**
 * A set of accepted tokens, compared in constant time. The time of a refusal reveals only whether the token is longer
 * than the longest accepted one.
 */
export class BearerTokens implements Iterable<string> {
  /** Each token, and its bytes padded with zeros to the length of the longest. */
  #accepted: readonly (readonly [token: string, padded: Buffer])[] = []
  #presented = Buffer.alloc(0)

  /** @throws {TypeError} if there is no token, or one that is not a `b64token`; the message never contains a token */
  constructor (tokens: Iterable<string>) {
    this.replace(tokens)
  }

  /** Returns the argument itself if it is a `BearerTokens`. */
  static from (tokens: Iterable<string>): BearerTokens {
    return tokens instanceof BearerTokens ? tokens : new BearerTokens(tokens)
  }

  /**
   * Accepts only these tokens from now on.
   * @throws {TypeError} as the constructor does; the accepted tokens are then unchanged
   */
  replace (tokens: Iterable<string>): void {
    const unique = [...new Set(tokens)]
    if (unique.length === 0) throw new TypeError('there must be at least one access token')
    unique.forEach((token, index) => {
      if (typeof token !== 'string' || !b64token.test(token)) {
        throw new TypeError(`access token ${index + 1} of ${unique.length} is not a b64token (RFC 6750, section 2.1): use letters, digits and -._~+/ only`)
      }
    })
    const length = Math.max(...unique.map(token => token.length))
    this.#presented = Buffer.alloc(length)
    this.#accepted = unique.map(token => {
      const padded = Buffer.alloc(length)
      padded.write(token, 'latin1')
      return [token, padded]
    })
  }

  readonly accepts = (token: string): boolean => {
    const presented = this.#presented
    if (token.length > presented.length) return false
    // Beyond the end of the token this writes zeros.
    for (let i = 0; i < presented.length; i++) presented[i] = token.charCodeAt(i)
    let accepted = false
    for (const [candidate, padded] of this.#accepted) {
      // Equal bytes are not enough: a NUL is a zero too, and of a character above 255 only the low byte is compared.
      if (timingSafeEqual(padded, presented) && candidate === token) accepted = true
    }
    return accepted
  }

  [Symbol.iterator] (): Iterator<string> {
    return this.#accepted.map(([token]) => token)[Symbol.iterator]()
  }
}
