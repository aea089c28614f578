import { type Document } from 'bson'
import type { Cue } from './cue.js'
import { Deployment, type Kind, type StepDownOptions } from './deployment.js'
import type { Member } from './member.js'
import type { CueOptions } from './prompter.js'
import type { Received } from './received.js'

/** A plant as it was stored. */
export interface StoredPlant {
  readonly name: string
  readonly tag?: string
}

/** What is played, and how. */
export interface ScriptedMongoOptions {
  readonly as?: Kind
  /** The port of the (first) member; 0 takes a free one. */
  readonly port?: number
  /** Milliseconds by which every answer is late. */
  readonly delay?: number
  /** False: keep no list of what was received, for a benchmark. */
  readonly record?: boolean
}

/**
 * A MongoDB for tests: real drivers connect to it, and on cue it fails in all the ways in which the real one does.
 * It never lies of itself: what it acknowledges with `w: 'majority'` no failover takes away.
 *
 * ```ts
 * const mongo = await ScriptedMongo.start(t, { as: 'replica set' })
 * mongo.on('insert', closeAfterStoring())                     // the next insert
 * mongo.on('insert', answer({ code: 91 }), { times: 3 })      // the three after it
 * await mongo.stepDown({ electAfter: 500, rollBack: true })
 * mongo.majority().has(42n)
 * ```
 */
export class ScriptedMongo {
  readonly #deployment: Deployment

  /** Starts one that ends with the test; without a test, end it by `close()`. */
  static async start (
    t: { teardown: (end: () => Promise<void>) => unknown } | undefined,
    { as = 'replica set', port = 0, delay = 0, record = true }: ScriptedMongoOptions = {}
  ): Promise<ScriptedMongo> {
    const mongo = new ScriptedMongo(new Deployment(as, record))
    await Promise.all(mongo.members.map(async (member, place) => { await member.start(place === 0 ? port : 0) }))
    mongo.delayAnswers(delay)
    t?.teardown(async () => { await mongo.close() })
    return mongo
  }

  private constructor (deployment: Deployment) {
    this.#deployment = deployment
  }

  /** Where it is to be reached, all members named. */
  get url (): string {
    return this.urlOf('')
  }

  /** The same, with a database. */
  urlOf (database: string): string {
    const hosts = this.members.map(({ address }) => address).join(',')
    return `mongodb://${hosts}/${database}${this.#deployment.kind === 'replica set' ? '?replicaSet=rs0' : ''}`
  }

  /** Its servers: each can be stopped, started, hung and resumed by itself. */
  get members (): readonly Member[] {
    return this.#deployment.members
  }

  /** The member that takes writes, if there is one now. */
  get primary (): Member | undefined {
    return this.#deployment.primary
  }

  /** Everything that arrived, in order. */
  get received (): readonly Received[] {
    return this.#deployment.received
  }

  /** How many commands will still meet a cue: 0 at the end of a test that saw all it had planned. */
  get cuesLeft (): number {
    return this.#deployment.prompter.left
  }

  /** The next such command (or the next `times`) meets this cue; cues for one command wait for each other. */
  on (command: string, cue: Cue, options: CueOptions = {}): this {
    this.#deployment.prompter.add(command, cue, options)
    return this
  }

  /** Drops the cues that have not been played. */
  clearCues (): void {
    this.#deployment.prompter.clear()
  }

  /** The plants of all databases, by id: everything that is stored. */
  plants (): Map<bigint, StoredPlant> {
    return this.#plants(() => true)
  }

  /** Those of them that no failover can take away. */
  majority (): Map<bigint, StoredPlant> {
    return this.#plants((state) => state === 'majority')
  }

  /** The primary steps down; resolves when another one is elected. */
  async stepDown (options: StepDownOptions = {}): Promise<void> {
    await this.#deployment.stepDown(options)
  }

  /** Another member becomes primary at once: after the primary was stopped or hung, for instance. */
  elect ({ rollBack = false } = {}): void {
    this.#deployment.elect(rollBack)
  }

  /** Takes back what is not majority-committed, and returns how many documents that were. */
  rollBack (): number {
    return this.#deployment.replication.rollBack()
  }

  /** The secondaries hear of no write until `resumeReplication`: a majority write waits, up to its wtimeout. */
  pauseReplication (): void {
    this.#deployment.replication.pause()
  }

  resumeReplication (): void {
    this.#deployment.replication.resume()
  }

  /** Every member reads, but carries out and answers nothing, heartbeats included. */
  hang (): void {
    for (const member of this.members) member.hang()
  }

  /** They go on, with what was asked meanwhile; or, `forget`, without it. */
  resume (options: { forget?: boolean } = {}): void {
    for (const member of this.members) member.resume(options)
  }

  /** Every answer from now on is this much late; 0 ends it. */
  delayAnswers (ms: number): void {
    this.#deployment.lateness = ms
  }

  /** Every connection closes; new ones are taken. */
  disconnect (): void {
    for (const member of this.members) member.disconnect()
  }

  /** Every process dies: connections close and are refused. What is stored stays. */
  async stop (): Promise<void> {
    await Promise.all(this.members.map(async (member) => { await member.stop() }))
  }

  /** Those that are stopped come back, on the same ports. */
  async start (): Promise<void> {
    await Promise.all(this.members.map(async (member) => { await member.start() }))
  }

  /** Ends it for good. Can be called twice. */
  async close (): Promise<void> {
    this.#deployment.replication.interrupt()
    await this.stop()
    this.#deployment.waits.cancel()
  }

  #plants (wanted: (state: string) => boolean): Map<bigint, StoredPlant> {
    const { memory } = this.#deployment
    const plants = new Map<bigint, StoredPlant>()
    for (const namespace of memory.namespaces.filter((name) => name.endsWith('.plants'))) {
      for (const { key, document, state } of memory.collection(namespace).values()) {
        if (typeof key === 'bigint' && wanted(state)) plants.set(key, withoutId(document))
      }
    }
    return plants
  }
}

function withoutId ({ _id, ...plant }: Document): StoredPlant {
  return plant as StoredPlant
}
