import { type Document } from 'bson'
import type { Cue } from './cue.js'
import { Deployment, type Kind, type StepDownOptions } from './deployment.js'
import type { Member } from './member.js'

/** A plant as it was stored. */
export interface StoredPlant {
  readonly name: string
  readonly tag?: string
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
    { as = 'replica set' }: { as?: Kind } = {}
  ): Promise<ScriptedMongo> {
    const mongo = new ScriptedMongo(new Deployment(as))
    await mongo.start()
    t?.teardown(async () => { await mongo.close() })
    return mongo
  }

  private constructor (deployment: Deployment) {
    this.#deployment = deployment
  }

  /** The connection string, with all members. */
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

  /** The next such command (or the next `times`) meets this cue; cues for one command wait for each other. */
  on (command: string, cue: Cue, { times = 1 } = {}): this {
    this.#deployment.prompter.add(command, cue, times)
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
    return this.#plants(state => state === 'majority')
  }

  /** The primary steps down; resolves when another one is elected. */
  async stepDown (options: StepDownOptions = {}): Promise<void> {
    await this.#deployment.stepDown(options)
  }

  /** Another member becomes primary at once: after the primary was stopped or hung, for instance. */
  elect ({ rollBack = false } = {}): void {
    this.#deployment.elect(rollBack)
  }

  /** Rolls back all writes that are not majority-committed. */
  rollBack (): void {
    this.#deployment.replication.rollBack()
  }

  /** Replication stops until `resumeReplication`: a majority write waits. */
  pauseReplication (): void {
    this.#deployment.replication.pause()
  }

  resumeReplication (): void {
    this.#deployment.replication.resume()
  }

  /** Every member reads, but executes and answers nothing, heartbeats included. */
  hang (): void {
    for (const member of this.members) member.hang()
  }

  /** The members resume, with the requests received since; with `forget`, without them. */
  resume (options: { forget?: boolean } = {}): void {
    for (const member of this.members) member.resume(options)
  }

  /** Delays every answer from now on; 0 ends the delay. */
  delayAnswers (ms: number): void {
    this.#deployment.lateness = ms
  }

  /** Every connection closes; new ones are taken. */
  disconnect (): void {
    for (const member of this.members) member.disconnect()
  }

  /** Every process dies: connections close and are refused. What is stored stays. */
  async stop (): Promise<void> {
    await Promise.all(this.members.map(async member => { await member.stop() }))
  }

  /** Those that are stopped come back, on the same ports. */
  async start (): Promise<void> {
    await Promise.all(this.members.map(async member => { await member.start() }))
  }

  /** Closes it. May be called twice. */
  async close (): Promise<void> {
    this.#deployment.replication.interrupt()
    await this.stop()
    this.#deployment.waits.cancel()
  }

  #plants (wanted: (state: string) => boolean): Map<bigint, StoredPlant> {
    const { memory } = this.#deployment
    const plants = new Map<bigint, StoredPlant>()
    for (const namespace of memory.namespaces.filter(name => name.endsWith('.plants'))) {
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
