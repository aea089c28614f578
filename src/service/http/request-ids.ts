import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const id = Symbol('plant-store.requestId')
type IdentifiedRequest = IncomingMessage & { [id]?: string }

/** Request ids, unique across processes and restarts: a random prefix and a counter. */
export class RequestIds {
  readonly #prefix = `${randomBytes(9).toString('base64url')}-`
  readonly #header: string | undefined
  readonly #isTrusted: (address: string | undefined) => boolean
  #count = 0

  /**
   * @param header the header that sets the id, in lower case
   * @param isTrusted whether this address is that of a proxy whose header is trusted
   */
  constructor (header?: string, isTrusted: (address: string | undefined) => boolean = () => false) {
    this.#header = header
    this.#isTrusted = isTrusted
  }

  /** Returns a new id. */
  next (): string {
    return this.#prefix + (++this.#count).toString(36)
  }

  /**
   * Returns the id of a request: the value of its header if a trusted proxy sent it and it is 1 to 128 visible ASCII
   * characters, otherwise a new one.
   */
  readonly assign = (request: IdentifiedRequest): string => {
    request[id] ??= this.#given(request) ?? this.next()
    return request[id]
  }

  #given ({ headers, socket }: IncomingMessage): string | undefined {
    if (this.#header === undefined || !this.#isTrusted(socket.remoteAddress)) return undefined
    const value = headers[this.#header]
    return typeof value === 'string' && /^[!-~]{1,128}$/.test(value) ? value : undefined
  }
}
