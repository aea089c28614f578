import { timingSafeEqual } from 'node:crypto'

/** The syntax of a bearer token: `b64token` of RFC 6750, section 2.1. */
export const b64token = /^[A-Za-z0-9\-._~+/]+=*$/

/** A set of accepted tokens. The time of a refusal reveals only whether a token is longer than each accepted one. */
export class BearerTokens implements Iterable<string> {
  #presented = Buffer.alloc(0)
  #accepted: readonly (readonly [token: string, padded: Buffer])[] = []

  /** @throws {TypeError} if there is no token, or one that is not a `b64token`; the message never contains a token */
  constructor (tokens: Iterable<string>) {
    this.replace(tokens)
  }

  /** Accepts only these tokens from now on; throws as the constructor does, and then changes nothing. */
  replace (tokens: Iterable<string>): void {
    const unique = [...new Set(tokens)]
    if (unique.length === 0) throw new TypeError('the list is empty: there must be at least one access token')
    const malformed = unique.findIndex(token => typeof token !== 'string' || !b64token.test(token))
    if (malformed >= 0) {
      const place = `access token ${malformed + 1} of ${unique.length}`
      const type = typeof unique[malformed]
      if (type !== 'string') throw new TypeError(`${place} is of the type ${type}, not a string: is its variable set?`)
      throw new TypeError(`${place} is not a b64token (RFC 6750, section 2.1): use letters, digits and -._~+/ only`)
    }
    const length = Math.max(...unique.map(token => token.length))
    this.#presented = Buffer.alloc(length)
    this.#accepted = unique.map(token => [token, Buffer.from(token.padEnd(length, '\0'))])
  }

  accepts (token: string): boolean {
    if (token.length > this.#presented.length) return false
    // Writes zeros beyond the end of the token.
    for (let i = 0; i < this.#presented.length; i++) this.#presented[i] = token.charCodeAt(i)
    // Equal bytes are not enough: a NUL is a zero too, and of a character above 255 only the low byte is compared.
    let isAccepted = false
    for (const [known, padded] of this.#accepted) {
      if (timingSafeEqual(padded, this.#presented) && known === token) isAccepted = true
    }
    return isAccepted
  }

  [Symbol.iterator] (): Iterator<string> {
    return this.#accepted.map(([token]) => token).values()
  }
}
