import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { Bag, type Bagged } from './bag.js'

interface Ending extends Bagged { readonly end: () => void }

/** What ends the requests of each connection. One listener serves all: of more than ten, Node would warn. */
const endings = new WeakMap<Socket, Bag<Ending>>()

/**
 * Calls back once, when the response is complete or the client has left. Not every response emits `close`: on Node 20
 * and 22 none that waits for its turn when its connection closes, and none of an adapter for AWS Lambda.
 */
export function whenOver (request: IncomingMessage, response: ServerResponse, callback: () => void): void {
  const connection: Partial<Socket> | null | undefined = request.socket
  // No event will follow: the client has left while a hook of the app was waiting.
  if (connection?.destroyed) return callback()
  // An adapter's has no events.
  const hasEvents = typeof connection?.once === 'function'
  const ofConnection = hasEvents ? endingsOf(connection as Socket) : undefined
  let isOver = false
  const ending: Ending = { place: 0, end }
  function end (): void {
    if (isOver) return
    isOver = true
    ofConnection?.delete(ending)
    callback()
  }
  ofConnection?.add(ending)
  response.on('finish', end).on('close', end)
}

function endingsOf (connection: Socket): Bag<Ending> {
  const known = endings.get(connection)
  if (known !== undefined) return known
  const bag = new Bag<Ending>()
  endings.set(connection, bag)
  connection.once('close', () => { for (const { end } of [...bag.items]) end() })
  return bag
}

/** For so many seconds after its response, the rest of a body may stand still; longer if somebody reads it, slowly. */
const STANDSTILL_S = { unread: 1, read: 5 }

/**
 * Whether the rest of a refused body will be read, so that the connection can be used again. What hooks of the host
 * read, or have paused, is theirs.
 * @param payload the body, or the stream that a preParsing hook of the host has made of it; without listeners of ours
 */
export function isRestDiscarded (raw: IncomingMessage, payload: Readable): boolean {
  if (raw.readableEnded) return true
  // Node discards what nobody reads.
  if (payload === raw) return !isRead(raw) && !raw.isPaused()
  payload.resume()
  // What is piped pauses only until its target has room again.
  return isRead(raw) || !raw.isPaused()
}

function isRead (raw: IncomingMessage): boolean {
  return raw.listenerCount('data') + raw.listenerCount('readable') > 0
}

/**
 * Watches the rest of a body whose request has its response. Paused by a hook of the host for good, it would hold up
 * later requests of the connection, and the closing of the server: then the connection is closed.
 */
export function watchRest (raw: IncomingMessage): void {
  let timer: NodeJS.Timeout | undefined
  let bytesBefore: number | undefined
  let seconds = 0

  function watch (): void {
    // It may be paused after it was closed, by what it is piped into.
    if (raw.closed) return
    bytesBefore = raw.socket?.bytesRead
    seconds = 0
    timer ??= setInterval(check, 1_000).unref()
  }
  function check (): void {
    if (raw.closed || !raw.isPaused()) return stop()
    const standsStill = raw.socket?.bytesRead === bytesBefore
    bytesBefore = raw.socket?.bytesRead
    seconds = standsStill ? seconds + 1 : 0
    if (seconds >= (isRead(raw) ? STANDSTILL_S.read : STANDSTILL_S.unread)) raw.destroy()
  }
  function stop (): void {
    clearInterval(timer)
    timer = undefined
  }

  if (raw.isPaused()) watch()
  raw.on('pause', watch).once('close', stop)
}
