import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from './service.js'

export interface Plant { id: number, name: string }

/** The outcome of a request: its status, or 0 and why there was no response. */
export interface Outcome { status: number, fault?: 'refused' | 'cut' | 'hanging' }

export interface Sent extends Plant, Outcome {
  /** Milliseconds from the request to its outcome. */
  took: number
}

export interface Load {
  connections?: number
  ms?: number
  signal?: AbortSignal
  /** Whether each client stops when its connection is refused or cut off. */
  untilCut?: boolean
  name?: (id: number) => string
}

/** Clients that create plants, each with one request at a time. Every plant has a new id. */
export class PlantClients {
  /** Everything that was sent, in the order of the responses. */
  readonly sent: Sent[] = []
  readonly #send: (plant: Plant) => Promise<Outcome>
  #lastId: number

  constructor (send: (plant: Plant) => Promise<Outcome>, firstId = 1) {
    this.#send = send
    this.#lastId = firstId - 1
  }

  async create (id = ++this.#lastId, name = `plant ${id}`): Promise<Sent> {
    const began = performance.now()
    const sent = { id, name, ...await this.#send({ id, name }), took: performance.now() - began }
    this.sent.push(sent)
    return sent
  }

  async load ({ connections = 16, ms = Infinity, signal, untilCut = false, name }: Load): Promise<void> {
    const end = performance.now() + ms
    await Promise.all(Array.from({ length: connections }, async () => {
      while (performance.now() < end && signal?.aborted !== true) {
        const id = ++this.#lastId
        const { fault } = await this.create(id, name?.(id))
        if (fault !== undefined && untilCut) return
        if (fault === 'refused') await sleep(20)
      }
    }))
  }

  /** Starts a load, and returns a function that stops it. */
  start (connections: number): () => Promise<void> {
    const stop = new AbortController()
    const load = this.load({ connections, signal: stop.signal })
    return async () => {
      stop.abort()
      await load
    }
  }

  get acknowledged (): Sent[] {
    return this.sent.filter(({ status }) => status === 200)
  }

  /** The reasons why requests got no response; a busy machine may refuse some with 503. */
  get unanswered (): string[] {
    return Object.keys(this.counts).filter(status => !['200', '503'].includes(status))
  }

  get counts (): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { status, fault } of this.sent) counts[fault ?? status] = (counts[fault ?? status] ?? 0) + 1
    return counts
  }
}

const RESPONSE_TIMEOUT_MS = 15_000

/**
 * Creates plants over HTTP.
 * @param address a URL, or `unix:` and the path of a socket
 * @param options.reconnect whether each request has a new connection; otherwise connections are kept alive
 */
export function overHttp (
  address: string, token: string, { reconnect = false } = {}
): (plant: Plant) => Promise<Outcome> {
  const agent = new http.Agent({ keepAlive: !reconnect })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const { hostname, port } = new URL(address)
  const target = address.startsWith('unix:') ? { socketPath: address.slice('unix:'.length) } : { hostname, port }
  const options = { ...target, path: '/plants', method: 'POST', agent, headers, timeout: RESPONSE_TIMEOUT_MS }
  return plant => new Promise(resolve => {
    const fail = (fault: NonNullable<Outcome['fault']>) => resolve({ status: 0, fault })
    const request = http.request(options, response => {
      response.resume().on('error', () => fail('cut')).on('end', () => {
        if (response.complete) resolve({ status: response.statusCode ?? 0 })
        else fail('cut')
      })
    })
    request.on('timeout', () => {
      fail('hanging')
      request.destroy()
    })
    request.on('error', ({ syscall }: NodeJS.ErrnoException) => {
      // A connection that the service has not accepted is reset when it stops listening.
      fail(syscall === 'connect' || !request.reusedSocket ? 'refused' : 'cut')
    })
    request.end(JSON.stringify(plant))
  })
}

export function byInject ({ create }: Service): (plant: Plant) => Promise<Outcome> {
  return async plant => ({ status: (await create(plant)).statusCode })
}

/** Acknowledged plants that are not stored with their exact content. */
export function lost (sent: readonly Sent[], stored: ReadonlyMap<bigint, { name?: unknown }>): Sent[] {
  return sent.filter(({ id, name, status }) => status === 200 && stored.get(BigInt(id))?.name !== name)
}

/** Plants that were refused with 503 but are stored. */
export function refusedAndStored (sent: readonly Sent[], stored: ReadonlyMap<bigint, unknown>): Sent[] {
  return sent.filter(({ id, status }) => status === 503 && stored.has(BigInt(id)))
}
