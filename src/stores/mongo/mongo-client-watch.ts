import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import type { MongoDriverClient } from './mongo-driver.js'
import { GIVEN_UP, type Topology } from './mongo-errors.js'

/** What is left to a command in flight when connections to its server are lost, or cannot be made. */
const LOST_CONNECTION_MS = 1_000

/** A command on its way, how far it may have come, and the end of the wait for it. */
export class Attempt {
  /** Names the command in the driver's event. */
  readonly comment = `plant-store ${randomUUID()}`
  /** Whether MongoDB may have it. Until then it waits for a server and a connection. */
  wasSent = false
  /** The server that may be executing it. */
  server: string | undefined
  readonly #limit = new AbortController()
  readonly signal: AbortSignal = this.#limit.signal
  readonly #timers: object[] = []

  constructor (private readonly clock: Clock) {}

  giveUpAfter (milliseconds: number, reason: string): void {
    const error = Object.assign(new Error(reason), { name: GIVEN_UP })
    this.#timers.push(this.clock.setTimeout(() => this.#limit.abort(error), milliseconds))
  }

  /**
   * Waits for a call of the driver, which rejects when the signal is aborted. The driver's own timeouts are not enough:
   * a command whose connection closes while it is being written never settles, and keeps its place in the pool.
   */
  async settle<Result> (call: () => Promise<Result>): Promise<Result> {
    const { signal } = this
    signal.throwIfAborted()
    const unsettled = new Promise<never>((_resolve, reject) => {
      // If the driver has not rejected, it may still send the command.
      const stopWaiting = () => {
        this.wasSent = true
        reject(signal.reason)
      }
      signal.addEventListener('abort', () => this.clock.setImmediate(stopWaiting), { once: true })
    })
    return await Promise.race([call(), unsettled]).finally(() => { this.server = undefined })
  }

  end (): void {
    for (const timer of this.#timers) this.clock.clearTimeout(timer)
  }
}

// Of the driver's events. A connection's id is unique among those to the same server.
interface CommandStarted { command: { comment?: unknown }, connectionId?: unknown }
interface PoolEvent { address: string, connectionId?: unknown, error?: unknown }

const watches = new WeakMap<MongoDriverClient, ClientWatch>()

/** Follows the inserts of all stores of a client, and its connections, by one listener for each event. */
export class ClientWatch {
  topology: Topology | undefined
  readonly #attempts = new Map<unknown, Attempt>()
  /**
   * The servers of the connections in use, by a connection's id: of two servers, the latest to be used. A command's own
   * event has the address to which a server's name resolves.
   */
  readonly #servers = new Map<unknown, string>()

  /** The watch of a client, which lasts as long as the client. */
  static of (client: MongoDriverClient): ClientWatch {
    const watch = watches.get(client) ?? new ClientWatch(client)
    watches.set(client, watch)
    return watch
  }

  private constructor (private readonly client: MongoDriverClient) {
    client.on('commandStarted', this.#onCommandStarted)
    client.on('connectionCheckedOut', ({ address, connectionId }: PoolEvent) => {
      this.#servers.set(connectionId, address)
    })
    client.on('connectionCheckedIn', ({ address, connectionId }: PoolEvent) => {
      if (this.#servers.get(connectionId) === address) this.#servers.delete(connectionId)
    })
    client.on('connectionClosed', ({ address, error }: PoolEvent) => {
      const couldNotBeMade = error instanceof Error
      if (couldNotBeMade) this.#onConnectionsLost(address)
    })
    client.on('connectionPoolCleared', ({ address }: PoolEvent) => this.#onConnectionsLost(address))
    client.on('topologyDescriptionChanged', ({ newDescription }: { newDescription: Topology }) => {
      this.topology = newDescription
    })
  }

  /** @param timeout milliseconds after which its commands are given up */
  async attempt<Result> (clock: Clock, timeout: number, run: (attempt: Attempt) => Promise<Result>): Promise<Result> {
    const attempt = new Attempt(clock)
    attempt.giveUpAfter(timeout, 'no response in time')
    // If nothing tells, or the host has removed its listeners.
    const isMonitored = this.client.options.monitorCommands &&
      this.client.listeners('commandStarted').includes(this.#onCommandStarted)
    if (!isMonitored) attempt.wasSent = true
    this.#attempts.set(attempt.comment, attempt)
    try {
      return await run(attempt)
    } finally {
      this.#attempts.delete(attempt.comment)
      attempt.end()
    }
  }

  readonly #onCommandStarted = ({ command, connectionId }: CommandStarted): void => {
    const attempt = this.#attempts.get(command.comment)
    if (attempt === undefined) return
    attempt.wasSent = true
    attempt.server = this.#servers.get(connectionId)
  }

  /** The driver never settles a command that was written just when its connection closed, nor says that it closed. */
  #onConnectionsLost (server: string): void {
    for (const attempt of this.#attempts.values()) {
      if (attempt.server === server) attempt.giveUpAfter(LOST_CONNECTION_MS, 'the connection was lost')
    }
  }
}
