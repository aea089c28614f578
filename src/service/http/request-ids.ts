import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/**
 * Makes the function that makes request ids, unique across processes and restarts: a random prefix and a counter.
 * @param header the header that sets the id, in lower case
 * @param isTrusted decides whether this header is believed
 */
export function requestIds (header: string | undefined, isTrusted?: (address: string | undefined) => boolean) {
  const prefix = `${randomBytes(9).toString('base64url')}-`
  let count = 0

  /** The value of the header, if a trusted proxy sent it and it is valid. */
  function given ({ headers, socket }: IncomingMessage): string | undefined {
    if (header === undefined || isTrusted?.(socket.remoteAddress) !== true) return undefined
    const value = headers[header]
    return typeof value === 'string' && /^[!-~]{1,128}$/.test(value) ? value : undefined
  }

  /** @param request left out for what is not a request */
  return function newId (request?: IncomingMessage): string {
    return (request && given(request)) ?? prefix + (++count).toString(36)
  }
}
