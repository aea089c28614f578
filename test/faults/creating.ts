import http from 'node:http'

/** A plant that was sent, and what the client was told; status 0 where the connection broke. */
export interface Told {
  id: number
  name: string
  status: number
  /** Whether it broke without one byte of an answer. */
  reset: boolean
  /** Milliseconds. */
  took: number
}

/** Clients that create plants over keep-alive connections, each with one request at a time. */
export class Clients {
  readonly #agent = new http.Agent({ keepAlive: true })
  readonly #token: string
  /** Everything that was told, in the order of the answers. */
  readonly told: Told[] = []
  #last: number

  constructor (token: string, firstId = 1) {
    this.#token = token
    this.#last = firstId - 1
  }

  /** Sends one create, by default of a new plant. */
  async create (address: string, id = ++this.#last, name = `plant ${id}`): Promise<Told> {
    const told = await post(address, this.#agent, this.#token, { id, name })
    this.told.push(told)
    return told
  }

  /** Keeps as many connections busy until the time is over, or, `untilBroken`, each until its connection breaks. */
  async load (address: string, { connections = 16, ms = Infinity, untilBroken = false, name = undefined as ((id: number) => string) | undefined } = {}): Promise<void> {
    const end = performance.now() + ms
    await Promise.all(Array.from({ length: connections }, async () => {
      while (performance.now() < end) {
        const id = ++this.#last
        const { status } = await this.create(address, id, name?.(id))
        if (status === 0 && untilBroken) return
      }
    }))
  }

  get acknowledged (): Told[] {
    return this.told.filter(({ status }) => status === 200)
  }

  /** How many were told what. */
  get counts (): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { status } of this.told) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }

  close (): void {
    this.#agent.destroy()
  }
}

async function post (address: string, agent: http.Agent, token: string, plant: { id: number, name: string }): Promise<Told> {
  const began = performance.now()
  const told = (status: number, reset = false) => ({ ...plant, status, reset, took: performance.now() - began })
  return await new Promise(resolve => {
    let answered = false
    const request = http.request(`${address}/plants`, {
      method: 'POST', agent, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    }, response => {
      answered = true
      response.resume()
      response.on('end', () => resolve(told(response.complete ? response.statusCode ?? 0 : 0)))
      response.on('error', () => resolve(told(0)))
    })
    request.on('error', (error: NodeJS.ErrnoException) => resolve(told(0, !answered && error.code !== 'ECONNREFUSED')))
    request.end(JSON.stringify(plant))
  })
}

/** Those of the acknowledged plants that are not there with their exact content. */
export function lost (told: readonly Told[], stored: ReadonlyMap<bigint, { name?: unknown }>): Told[] {
  return told.filter(({ id, name, status }) => status === 200 && stored.get(BigInt(id))?.name !== name)
}

/** Those that were refused with 503, and are stored. */
export function refusedAndStored (told: readonly Told[], stored: ReadonlyMap<bigint, unknown>): Told[] {
  return told.filter(({ id, status }) => status === 503 && stored.has(BigInt(id)))
}
