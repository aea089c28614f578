import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds in which new connections are still taken, while /health/ready says 503. */
const NOTICE = 300
/** Milliseconds that requests are held at most, and without a new connection that count as quiet. */
const LONGEST_HOLD = 1_500
const QUIET = 15

export interface DrainOptions {
  /** Milliseconds that connections which stay silent are waited for. */
  patience: number
  /** Resolves when all processes that share the port have come to the same point. */
  together?: (point: 'quiet' | 'closed') => Promise<void>
}

/**
 * Ends the connections of servers without cutting a request off. Each connection gets `Connection: close` with its next
 * answer (RFC 9112, section 9.6); Node's own `close` ends at once those that look idle, also where a request is on its way.
 *
 * A listening socket that closes resets the connections in its queue, which Node has not seen yet, though a request may
 * be sent on them. So before it closes, new requests are held for a moment: clients that wait for an answer open no new
 * connections, the queue runs empty, and the socket closes in a turn of the event loop in which none came.
 */
export async function drain (servers: readonly Server[], { patience, together }: DrainOptions): Promise<void> {
  const gates = servers.map(server => new Gate(server))
  await sleep(NOTICE)
  for (const gate of gates) gate.hold()
  await quiet(gates)
  await together?.('quiet')
  const closed = Promise.all(servers.map(server => new Promise(resolve => { NetServer.prototype.close.call(server, resolve) })))
  await together?.('closed')
  for (const gate of gates) gate.release()
  await Promise.race([closed, sleep(patience, undefined, { ref: false })])
  // What is left has nothing under way, or never sent anything.
  if (gates.every(gate => gate.isQuiet())) for (const server of servers) server.closeAllConnections()
}

async function quiet (gates: readonly Gate[]): Promise<void> {
  const end = performance.now() + LONGEST_HOLD
  do {
    await sleep(QUIET / 3)
    // From the timer to here the loop has looked once for new connections.
    await turn()
  } while (performance.now() < end && !gates.every(gate => gate.isQuiet()))
}

/** Where the requests of a server pass while it ends. */
class Gate {
  readonly #server: Server
  readonly #handlers: RequestListener[]
  #held: [IncomingMessage, ServerResponse][] | undefined
  #underWay = 0
  #lastCame = performance.now()

  constructor (server: Server) {
    this.#server = server
    this.#handlers = server.listeners('request') as RequestListener[]
    server.removeAllListeners('request')
    server.on('request', (request, response) => {
      response.setHeader('connection', 'close')
      this.#lastCame = performance.now()
      // A probe is answered at any time: one of them tells that the queue is empty (last-in-queue.ts).
      if (this.#held === undefined || request.url === '/health/live') this.#pass(request, response)
      else this.#held.push([request, response])
    })
    server.on('connection', () => { this.#lastCame = performance.now() })
  }

  hold (): void {
    this.#held = []
  }

  release (): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const [request, response] of held) this.#pass(request, response)
  }

  /** Whether all that is left of the requests is held. */
  isQuiet (): boolean {
    return this.#underWay === 0 && performance.now() - this.#lastCame > QUIET
  }

  #pass (request: IncomingMessage, response: ServerResponse): void {
    this.#underWay++
    response.on('close', () => { this.#underWay-- })
    for (const handler of this.#handlers) handler.call(this.#server, request, response)
  }
}
