import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const id = Symbol('plant-store.requestId')
type IdentifiedRequest = IncomingMessage & { [id]?: string }

export type RequestIds = ReturnType<typeof requestIds>

/**
 * Makes request ids, unique across processes and restarts: a random prefix and a counter.
 * @param header the header that sets the id, in lower case
 * @param isTrusted whether this address is that of a proxy whose header is trusted
 */
export function requestIds (header?: string, isTrusted?: (address: string | undefined) => boolean) {
  const prefix = `${randomBytes(9).toString('base64url')}-`
  let count = 0
  const next = (): string => prefix + (++count).toString(36)

  function given ({ headers, socket }: IncomingMessage): string | undefined {
    if (header === undefined || !isTrusted?.(socket.remoteAddress)) return undefined
    const value = headers[header]
    return typeof value === 'string' && /^[!-~]{1,128}$/.test(value) ? value : undefined
  }

  /**
   * Returns the id of a request: the value of its header if a trusted proxy sent it and it is 1 to 128 visible ASCII
   * characters, otherwise a new one.
   */
  function assign (request: IdentifiedRequest): string {
    request[id] ??= given(request) ?? next()
    return request[id]
  }

  return { next, assign }
}
