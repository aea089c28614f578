import type { Document } from 'bson'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { listenOnLastingPort } from '../process/lasting-port.js'
import type { CommandError } from './command-error.js'
import { Connection } from './connection.js'
import { Cursors } from './cursors.js'
import type { Deployment } from './deployment.js'
import { TopologyVersion } from './topology-version.js'

const STATE_CHANGES = new Set([91, 189, 10107, 11600, 11602, 13435, 13436])

/** One server process of the deployment: its port, its connections, and whether it runs, hangs or is down. */
export class Member {
  readonly deployment: Deployment
  readonly cursors = new Cursors()
  /** Replaced at each stop, since each process has its own. */
  topologyVersion = new TopologyVersion()
  readonly #connections = new Set<Connection>()
  #server: Server | undefined
  #port = 0
  #hung = false
  #held: Array<() => void> = []

  constructor (deployment: Deployment) {
    this.deployment = deployment
  }

  get address (): string {
    return `127.0.0.1:${this.#port}`
  }

  get isPrimary (): boolean {
    return this.deployment.primary === this
  }

  get isHealthy (): boolean {
    return this.#server !== undefined && !this.#hung
  }

  /** Listens, after a stop on the same port as before. */
  async start (): Promise<void> {
    if (this.#server !== undefined) return
    const server = this.#server = createServer({ noDelay: true }, socket => {
      const connection = new Connection(socket, this)
      this.#connections.add(connection)
      socket.on('close', () => this.#connections.delete(connection))
    })
    if (this.#port === 0) await listenOnLastingPort(server)
    else await once(server.listen(this.#port, '127.0.0.1'), 'listening')
    this.#port = (server.address() as AddressInfo).port
  }

  /**
   * The process dies: connections close, new ones are refused, requests being executed are dropped. Stored documents
   * remain.
   */
  async stop (): Promise<void> {
    const server = this.#server
    this.#server = undefined
    this.#hung = false
    this.#held = []
    this.cursors.clear()
    this.topologyVersion = new TopologyVersion()
    this.disconnect()
    if (server !== undefined) await new Promise(resolve => server.close(resolve))
  }

  disconnect (): void {
    for (const connection of this.#connections) connection.close()
  }

  /** Accepts connections and reads requests, but does not execute or answer them, like a suspended process. */
  hang (): void {
    this.#hung = true
  }

  /** Resumes, with the requests received since, even if their clients are gone; with `forget`, without them. */
  resume ({ forget = false } = {}): void {
    const held = this.#held
    this.#hung = false
    this.#held = []
    if (!forget) for (const resolve of held) resolve()
  }

  /**
   * The answer of a failed command. A change of state includes the topology version, by which the driver detects stale
   * answers.
   */
  failed (error: CommandError): Document {
    const changesState = STATE_CHANGES.has(error.code)
    return { ...error.toAnswer(), ...(changesState && { topologyVersion: this.topologyVersion.toDocument() }) }
  }

  /** Resolves once the member does not hang. */
  async resumed (): Promise<void> {
    while (this.#hung) await new Promise<void>(resolve => { this.#held.push(resolve) })
  }
}
