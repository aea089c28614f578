import { Long, ObjectId, type Document } from 'bson'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { NewPlant } from '../../../src/plant.js'
import { listenOnLastingPort } from '../process/lasting-port.js'
import { failed, type Answer, type Cue, type Overrides, type StepDownOptions } from './cues.js'
import { Documents } from './documents.js'
import { readRequests, writeAnswer, type Request } from './wire.js'

type Kind = 'standalone' | 'replica set'

export type StoredPlant = Omit<NewPlant, 'id'>

/**
 * A MongoDB for tests: real drivers connect to it, and on cue it fails as a real one does. As a replica set it has one
 * member, which loses the primary role at a step-down, and regains it.
 */
export class ScriptedMongo {
  readonly #documents = new Documents()
  readonly #cues = new Map<string, { cue: Cue, times: number }[]>()
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #port = 0
  #isPrimary = true
  #election: Promise<void> | undefined
  /** The identity of the server's process, which a restart changes. */
  #process = new ObjectId()
  #roleChanges = 0
  #roleChange = new AbortController()
  /** What waits for the end of a hang, if the server hangs. */
  #held: (() => void)[] | undefined

  /** Starts a server that is closed after the test; without a test, call `stop()`. */
  static async start (
    t?: Pick<Test, 'teardown'>, { as = 'replica set', isPolled = false }: { as?: Kind, isPolled?: boolean } = {}
  ): Promise<ScriptedMongo> {
    const mongo = new ScriptedMongo(as, isPolled)
    await mongo.start()
    t?.teardown(async () => { await mongo.stop() })
    return mongo
  }

  /** @param isPolled without topology versions, as other servers than MongoDB: drivers ask it now and then */
  private constructor (private readonly kind: Kind, private readonly isPolled: boolean) {}

  get url (): string {
    return this.urlOf('')
  }

  urlOf (database: string): string {
    return `mongodb://${this.#address}/${database}${this.kind === 'replica set' ? '?replicaSet=rs0' : ''}`
  }

  /** Plays a cue for the next such command, or the next `times`; cues for the same command are played in order. */
  on (command: string, cue: Cue, { times = 1 } = {}): this {
    this.#cues.set(command, [...this.#cues.get(command) ?? [], { cue, times }])
    return this
  }

  clearCues (): void {
    this.#cues.clear()
  }

  /** All stored plants of all databases, by id. */
  plants (): Map<bigint, StoredPlant> {
    return this.#documents.plants()
  }

  /** The plants that the majority has. */
  majority (): Map<bigint, StoredPlant> {
    return this.#documents.plants({ committed: true })
  }

  /** The primary steps down; resolves when there is one again. */
  async stepDown ({ electAfter = 0, closeConnections = false }: StepDownOptions = {}): Promise<void> {
    this.#election ??= this.#electLater(electAfter)
    if (closeConnections) this.disconnect()
    await this.#election
  }

  /** The server reads, but does not execute or answer anything, including heartbeats, like a suspended process. */
  hang (): void {
    this.#held ??= []
  }

  /** Resumes with the requests received since, even if their clients are gone; with `forget`, without them. */
  resume ({ forget = false } = {}): void {
    const held = this.#held
    this.#held = undefined
    if (!forget) for (const resolve of held ?? []) resolve()
  }

  disconnect (): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** The process dies: connections close, new ones are refused, pending requests are dropped. Documents remain. */
  async stop (): Promise<void> {
    const server = this.#server
    this.#server = undefined
    this.#process = new ObjectId()
    this.resume({ forget: true })
    this.#announce({ isPrimary: this.#isPrimary })
    this.disconnect()
    if (server !== undefined) await new Promise(resolve => server.close(resolve))
  }

  /** Listens, after a stop on the same port. */
  async start (): Promise<void> {
    if (this.#server !== undefined) return
    const server = this.#server = createServer({ noDelay: true }, socket => this.#accept(socket))
    if (this.#port === 0) await listenOnLastingPort(server)
    else await once(server.listen(this.#port, '127.0.0.1'), 'listening')
    this.#port = (server.address() as AddressInfo).port
  }

  get #address (): string {
    return `127.0.0.1:${this.#port}`
  }

  get #topologyVersion (): Document {
    return { processId: this.#process, counter: Long.fromNumber(this.#roleChanges) }
  }

  async #electLater (ms: number): Promise<void> {
    this.#announce({ isPrimary: false })
    await sleep(ms, undefined, { ref: false })
    this.#election = undefined
    this.#announce({ isPrimary: true })
  }

  #announce ({ isPrimary }: { isPrimary: boolean }): void {
    this.#isPrimary = isPrimary
    this.#roleChanges++
    this.#roleChange.abort()
    this.#roleChange = new AbortController()
  }

  #accept (socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {}) // a client may disconnect at any time
    readRequests(socket, request => this.#receive(request, socket))
  }

  async #receive (request: Request, socket: Socket): Promise<void> {
    await this.#resumed()
    const isStream = request.command === 'hello' && request.body['topologyVersion'] !== undefined
    if (isStream) return await this.#streamHello(request, socket)
    const answer = await this.#play(request, socket)
    if (answer) await this.#send(socket, answer, request)
  }

  async #play (request: Request, socket: Socket): Promise<Answer> {
    const process = this.#process
    const execute = async (overrides = {}) => {
      if (process !== this.#process) return // it died while a cue was waiting
      return await this.#execute(request, overrides)
    }
    const queue = this.#cues.get(request.command)
    const next = queue?.[0]
    if (next === undefined) return await execute()
    if (--next.times <= 0) queue?.shift()
    const close = () => { socket.destroy() }
    return await next.cue({ request, close, stepDown: options => this.stepDown(options) }, execute)
  }

  async #execute (request: Request, overrides: Overrides): Promise<Document> {
    const { command } = request
    if (command === 'hello') return this.#hello()
    if (['ping', 'endSessions', 'killCursors'].includes(command)) return { ok: 1 }
    if (!this.#isPrimary) return failed({ code: command === 'insert' ? 10107 : 13435, message: 'not primary' })
    try {
      return this.#documents.execute(request, overrides)
    } catch (error) {
      return failed({ code: 2, message: (error as Error).message })
    }
  }

  /** Describes this server to a driver, with the field of `hello` and that of the older `isMaster`. */
  #hello (): Document {
    const me = this.#address
    return {
      helloOk: true,
      isWritablePrimary: this.#isPrimary,
      ismaster: this.#isPrimary,
      ...(this.kind === 'replica set' && { setName: 'rs0', hosts: [me], me, secondary: !this.#isPrimary }),
      maxBsonObjectSize: 16_777_216,
      maxMessageSizeBytes: 48_000_000,
      maxWriteBatchSize: 100_000,
      logicalSessionTimeoutMinutes: 30,
      minWireVersion: 0,
      maxWireVersion: 21,
      ok: 1
    }
  }

  /** A driver's monitor sends one `hello`, and gets an answer at each change, and at least every `maxAwaitTimeMS`. */
  async #streamHello (request: Request, socket: Socket): Promise<void> {
    let { body: { topologyVersion: seen, maxAwaitTimeMS }, requestId } = request
    do {
      const isKnown = this.#process.equals(seen.processId) && Number(seen.counter) === this.#roleChanges
      const { signal } = this.#roleChange
      if (isKnown) await sleep(Number(maxAwaitTimeMS), undefined, { signal, ref: false }).catch(() => {})
      await this.#resumed()
      seen = this.#topologyVersion
      requestId = await this.#send(socket, this.#hello(), { ...request, requestId })
    } while (request.allowsExhaust && !socket.destroyed)
  }

  /** Returns the answer's id, to which the next answer of a stream refers. */
  async #send (socket: Socket, answer: Document, request: Request): Promise<number> {
    await this.#resumed()
    // By the version the driver notices whether an error is older than what it knows of the server.
    const versioned = this.isPolled ? answer : { topologyVersion: this.#topologyVersion, ...answer }
    const { id, bytes } = writeAnswer(versioned, request)
    if (!socket.destroyed) socket.write(bytes)
    return id
  }

  async #resumed (): Promise<void> {
    while (this.#held !== undefined) await new Promise<void>(resolve => { this.#held?.push(resolve) })
  }
}
