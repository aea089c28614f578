import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import { messageOf } from '../../error-message.js'
import type { CommandStarted, ConnectionEvent, MongoDriverClient, Topology, TopologyChange } from './mongo-driver.js'
import { NoServerFound, NotOfADriver } from './mongo-errors.js'

/** What is left to a command in flight when connections to its server are lost, or cannot be made. */
const LOST_CONNECTION_MS = 1_000

/** A command on its way, how far it may have come, and the end of the wait for it. */
export class Attempt {
  /** Names the command in the driver's event. */
  readonly comment = `plant-store ${randomUUID()}`
  /**
   * - `waiting`: for a server and a connection;
   * - `starting`: the driver makes a message of it. It does so in the turn of the event loop in which the command
   *   starts, while a response arrives in a later one: an error of the serializer in this turn is not of a response;
   * - `sent`: MongoDB may have it.
   */
  progress: 'waiting' | 'starting' | 'sent' = 'waiting'
  /** Undefined if the client does not monitor commands. */
  connection: { address: string, id: unknown } | undefined
  readonly #limit = new AbortController()
  readonly #timer: object
  #lostTimer: object | undefined

  /** @param timeout milliseconds after which it is given up */
  constructor (private readonly clock: Clock, timeout: number) {
    this.#timer = clock.setTimeout(() => this.#limit.abort(new Error('no response in time')), timeout)
  }

  get signal (): AbortSignal {
    return this.#limit.signal
  }

  /** @param connection undefined if the client does not tell when it starts */
  hasStarted (connection?: { address: string, id: unknown }): void {
    this.connection = connection
    if (this.progress === 'sent') return
    this.progress = connection === undefined ? 'sent' : 'starting'
    this.clock.setImmediate(() => { this.progress = 'sent' })
  }

  loseConnection (): void {
    const lose = () => this.#limit.abort(new Error('the connection was lost'))
    this.#lostTimer ??= this.clock.setTimeout(lose, LOST_CONNECTION_MS)
  }

  /**
   * Waits for a call of the driver, which rejects when the signal is aborted. The driver's own timeouts are not enough:
   * a command whose connection closes while it is being written never settles, and keeps its place in the pool.
   * @throws {NotOfADriver} if it does what no driver does
   */
  async settle<Result> (call: () => Promise<Result>): Promise<Result> {
    const { signal } = this
    signal.throwIfAborted()
    const unsettled = new Promise<never>((_resolve, reject) => {
      const fail = () => reject(new NotOfADriver(messageOf(signal.reason)))
      // After the driver has rejected.
      signal.addEventListener('abort', () => this.clock.setImmediate(fail), { once: true })
    })
    let pending: Promise<Result>
    try {
      pending = call()
    } catch (thrown) {
      throw new NotOfADriver(messageOf(thrown))
    }
    return await Promise.race([pending, unsettled])
  }

  end (): void {
    this.clock.clearTimeout(this.#timer)
    if (this.#lostTimer !== undefined) this.clock.clearTimeout(this.#lostTimer)
  }
}

const watches = new WeakMap<MongoDriverClient, ClientWatch>()

/** Follows what a client does with the commands and connections of all its stores, by one listener for each event. */
export class ClientWatch {
  /** Whether a command of the client has started, which needs a connection. */
  hasConnected = false
  #topology: Topology | undefined
  readonly #stores = new Set<object>()
  readonly #attempts = new Map<unknown, Attempt>()
  /** The connections by server that a command uses now. */
  readonly #inUse = new Map<string, Set<unknown>>()

  readonly #listeners = {
    commandStarted: ({ command, address, connectionId }: CommandStarted): void => {
      this.hasConnected = true
      this.#attempts.get(command.comment)?.hasStarted({ address, id: connectionId })
    },
    connectionCheckedOut: ({ address, connectionId }: ConnectionEvent): void => {
      const inUse = this.#inUse.get(address) ?? new Set()
      inUse.add(connectionId)
      this.#inUse.set(address, inUse)
    },
    connectionCheckedIn: ({ address, connectionId }: ConnectionEvent): void => {
      this.#inUse.get(address)?.delete(connectionId)
    },
    connectionClosed: ({ address, error }: ConnectionEvent): void => {
      const couldNotBeMade = error !== undefined && error !== null
      if (couldNotBeMade) this.#onConnectionsLost(address)
    },
    connectionPoolCleared: ({ address }: ConnectionEvent): void => {
      this.#onConnectionsLost(address)
    },
    topologyDescriptionChanged: ({ newDescription }: TopologyChange): void => {
      this.#topology = newDescription
    }
  }

  /** The watch of a client, until the store ends it. */
  static begin (client: MongoDriverClient, store: object): ClientWatch {
    const watch = watches.get(client) ?? new ClientWatch(client)
    watch.#stores.add(store)
    return watch
  }

  private constructor (private readonly client: MongoDriverClient) {
    watches.set(client, this)
    for (const [event, listener] of Object.entries(this.#listeners)) client.on(event, listener)
  }

  /** With the last store of the client, its listeners are removed. May be called twice. */
  end (store: object): void {
    this.#stores.delete(store)
    if (this.#stores.size > 0 || watches.get(this.client) !== this) return
    watches.delete(this.client)
    for (const [event, listener] of Object.entries(this.#listeners)) this.client.off(event, listener)
  }

  add (attempt: Attempt): void {
    this.#attempts.set(attempt.comment, attempt)
    // Nothing will tell.
    if (!this.client.options.monitorCommands) attempt.hasStarted()
  }

  remove (attempt: Attempt): void {
    this.#attempts.delete(attempt.comment)
  }

  /** The servers and their errors, if none of them takes writes; undefined if one does, or if nothing is known. */
  noServerFound (): NoServerFound | undefined {
    if (this.#topology === undefined) return undefined
    const takesWrites = ['RSPrimary', 'Mongos', 'Standalone', 'LoadBalancer']
    const servers = [...this.#topology.servers.values()]
    const isFound = servers.some(({ type }) => takesWrites.includes(type))
    return isFound ? undefined : new NoServerFound(this.#topology)
  }

  /** The driver never settles a command that was written just when its connection closed, nor says that it closed. */
  #onConnectionsLost (server: string): void {
    for (const attempt of this.#attempts.values()) {
      if (this.#mayBeOn(server, attempt)) attempt.loseConnection()
    }
  }

  #mayBeOn (server: string, { progress, connection }: Attempt): boolean {
    if (progress === 'waiting') return false
    const inUse = this.#inUse.get(server) ?? new Set()
    // The client does not tell which command has which connection.
    if (connection === undefined) return inUse.size > 0
    if (connection.address === server) return true
    // A server may have a name, while its connections have the address to which it resolved.
    return !this.#inUse.has(connection.address) && inUse.has(connection.id)
  }
}
