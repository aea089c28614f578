import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'

/** After its response, the rest of a body may stand still for so many milliseconds. */
const STANDSTILL_MS = 1_000

/**
 * Whether the rest of a refused body will be read, so that the connection can be used again. What hooks of the host
 * read, or have paused, is theirs.
 * @param payload the body, or the stream that a preParsing hook of the host has made of it; without listeners of ours
 */
export function isRestDiscarded (raw: IncomingMessage, payload: Readable): boolean {
  if (raw.readableEnded) return true
  const readers = raw.listenerCount('data') + raw.listenerCount('readable')
  // Node discards what nobody reads.
  if (payload === raw) return readers === 0 && !raw.isPaused()
  payload.resume()
  // What is piped pauses only until its target has room again.
  return readers > 0 || !raw.isPaused()
}

/**
 * Watches the rest of a body whose request has its response. Paused by a hook of the host for good, it would hold up
 * later requests of the connection, and the closing of the server: then the connection is closed.
 */
export function watchRest (raw: IncomingMessage): void {
  let timer: NodeJS.Timeout | undefined
  let bytesBefore: number | undefined

  function watch (): void {
    bytesBefore = raw.socket?.bytesRead
    timer ??= setInterval(check, STANDSTILL_MS).unref()
  }
  function check (): void {
    const standsStill = raw.socket?.bytesRead === bytesBefore
    bytesBefore = raw.socket?.bytesRead
    if (!raw.isPaused()) stop()
    else if (standsStill) raw.destroy()
  }
  function stop (): void {
    clearInterval(timer)
    timer = undefined
  }

  if (raw.isPaused()) watch()
  raw.on('pause', watch).once('close', stop)
}
