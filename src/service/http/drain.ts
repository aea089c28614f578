import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { Configuration } from '../config/configuration.js'
import { closeConnections, pendingResponses } from './connections.js'

/** Milliseconds during which new connections are still accepted, while /health/ready is 503. */
const NOTICE_MS = 300
/** The longest time for which requests are held, in milliseconds. */
const LONGEST_HOLD_MS = 1_500
/** Milliseconds without a new connection after which none is expected. */
const QUIET_MS = 50
/** Milliseconds to wait for connections that send nothing. */
const IDLE_TIMEOUT_MS = 1_000

/** Milliseconds until a shutdown is forced: less than the 30 seconds that Kubernetes grants by default. */
export function shutdownTimeoutMs ({ STORE_TIMEOUT }: Pick<Configuration, 'STORE_TIMEOUT'>): number {
  return Math.min(STORE_TIMEOUT + 5_000, 25_000)
}

/**
 * Closes servers without cutting off a request. Each connection gets `Connection: close` with its next response (RFC
 * 9112, section 9.6); Node's own `close` closes idle connections immediately, even if a request is on its way.
 *
 * Closing a listening socket resets the connections in its accept queue, although requests may have been sent on them.
 * So new requests are held for a moment first: clients that wait for a response open no new connections, the queue
 * empties, and the socket is closed in a turn of the event loop without new connections.
 */
export async function drain (servers: readonly Server[]): Promise<void> {
  const gate = new Gate(servers)
  await sleep(NOTICE_MS)
  gate.hold()
  const holdUntil = performance.now() + LONGEST_HOLD_MS
  do {
    await sleep(QUIET_MS / 10)
    // Between the timer and here, the event loop polled once for new connections.
    await turn()
  } while (!gate.isQuiet() && performance.now() < holdUntil)
  const closed = Promise.all(servers.map(server => new Promise(resolve => {
    NetServer.prototype.close.call(server, resolve)
  })))
  gate.release()
  while (await Promise.race([closed, sleep(IDLE_TIMEOUT_MS, 'open')]) === 'open') {
    // A request that arrived while the process waited for the processor is read only now.
    await turn()
    // Connections still open have no request pending, or never sent one.
    if (gate.isQuiet()) servers.forEach(closeConnections)
  }
}

/** Passes on or holds the requests of servers during their shutdown. */
class Gate {
  readonly #servers: readonly Server[]
  #held: Map<ServerResponse, () => void> | undefined
  #lastArrival = performance.now()
  /** Connections that are closed by the response to a request already received. */
  readonly #closing = new WeakSet<Socket>()

  constructor (servers: readonly Server[]) {
    this.#servers = servers
    for (const server of servers) {
      const handlers = server.listeners('request')
      server.removeAllListeners('request')
      server.on('request', (request, response) => {
        const { socket } = request
        // It would get no response, so it is not executed (RFC 9112, section 9.6).
        if (this.#closing.has(socket)) return
        this.#closing.add(socket)
        response.setHeader('connection', 'close')
        this.#lastArrival = performance.now()
        const pass = (): void => {
          for (const handler of handlers) handler.call(server, request, response)
        }
        if (this.#held === undefined) pass()
        else this.#held.set(response, pass)
      })
      server.on('connection', () => { this.#lastArrival = performance.now() })
    }
  }

  hold (): void {
    this.#held = new Map()
  }

  release (): void {
    const held = this.#held
    this.#held = undefined
    held?.forEach(pass => { pass() })
  }

  /** Whether no request is pending except the held ones, and none is expected. */
  isQuiet (): boolean {
    // Not counted by events: requests may have come before the gate, and Node emits none for a pipelined request whose
    // client disconnects before its turn.
    return performance.now() - this.#lastArrival > QUIET_MS &&
      this.#servers.flatMap(pendingResponses).every(response => this.#held?.has(response))
  }
}
