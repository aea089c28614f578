import { once } from 'node:events'
import { createRequire } from 'node:module'
import { connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRequests, type Shot } from '../load/requests.js'
import { bareServer } from '../servers/bare.js'
import { fastifyApp } from '../servers/fastify.js'

/** What is compared: a floor, or the plugin of a build. */
export type SideName = 'bare' | 'fastify' | 'fastify-token' | { plugin: string } // the URL of its `index.js`

const TOKEN = 'a-token-for-the-bench'

/** A server in this process, and connections to it that are busy only during its slices of time. */
export class Side {
  readonly #next: () => Shot
  #connections: Connection[] = []
  #isRunning = false
  #answers = 0

  private constructor (readonly url: string) {
    this.#next = createRequests(url, TOKEN)
  }

  static async start (name: SideName, connections: number): Promise<Side> {
    const { port } = (await listening(name)).address() as AddressInfo
    const side = new Side(`http://127.0.0.1:${port}`)
    for (let index = 0; index < connections; index++) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      await once(socket, 'connect')
      side.#connections.push(new Connection(socket, () => side.#answered()))
    }
    return side
  }

  /**
   * Sends requests for some milliseconds of processor time, which other programs do not use up.
   * @returns µs of this process's processor time for each request, all of its threads together
   */
  async slice (milliseconds: number): Promise<number> {
    this.#isRunning = true
    this.#answers = 0
    const begin = process.cpuUsage()
    for (const connection of this.#connections) connection.send(this.#next())
    while (microsecondsSince(begin) < milliseconds * 1000) await sleep(2)
    this.#isRunning = false
    await this.#lastAnswers()
    return microsecondsSince(begin) / this.#answers
  }

  async #lastAnswers (): Promise<void> {
    const giveUpAt = performance.now() + 10_000
    while (this.#connections.some(connection => connection.isBusy)) {
      if (performance.now() > giveUpAt) throw new Error('a request had no response for 10 s')
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  #answered (): Shot | undefined {
    this.#answers++
    return this.#isRunning ? this.#next() : undefined
  }
}

function microsecondsSince (begin: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begin)
  return user + system
}

/** As lean as a client can be that still checks each answer: what it costs dilutes the comparison. */
class Connection {
  readonly #socket: Socket
  #sent: Shot | undefined
  #received = ''

  /** @param onAnswer returns the next request, if there is one */
  constructor (socket: Socket, onAnswer: () => Shot | undefined) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.#received += text
      if (!this.#received.startsWith('HTTP/1.1 200')) throw new Error(`a wrong answer: ${this.#received}`)
      if (this.#sent === undefined || !this.#received.endsWith(String(this.#sent.body))) return
      this.#sent = undefined
      this.#received = ''
      const next = onAnswer()
      if (next !== undefined) this.send(next)
    })
  }

  get isBusy (): boolean {
    return this.#sent !== undefined
  }

  send (shot: Shot): void {
    this.#sent = shot
    this.#socket.write(shot.text)
  }
}

async function listening (name: SideName): Promise<Server> {
  if (name === 'bare') {
    const server = bareServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  const app = typeof name === 'object'
    ? await pluginApp(name.plugin)
    : await fastifyApp(() => true, name === 'fastify' ? undefined : TOKEN)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server
}

/** A host of the plugin of a build, with that build's own Fastify, and a store that keeps nothing. */
async function pluginApp (module: string) {
  const fastify: typeof import('fastify')['default'] = createRequire(module)('fastify')
  const { default: plantStore } = await import(module)
  const app = fastify()
  await app.register(plantStore, { store: { create: async () => 'stored' }, tokens: [TOKEN] })
  return app
}
