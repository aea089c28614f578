import { type Document } from 'bson'
import type { Cue } from './cue.js'
import { Deployment, type Kind, type StepDownOptions } from './deployment.js'
import type { Member } from './member.js'

/** A stored plant, without its id. */
export interface StoredPlant {
  readonly name: string
  readonly tag?: string
}

/**
 * A MongoDB for tests: real drivers connect to it, and on cue it fails as a real one does. Without a cue it is
 * reliable: no failover removes what it acknowledged with `w: 'majority'`.
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

  /** Starts a server that is closed after the test; without a test, call `close()`. */
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

  /** The connection string of a database. */
  urlOf (database: string): string {
    const hosts = this.members.map(({ address }) => address).join(',')
    return `mongodb://${hosts}/${database}${this.#deployment.kind === 'replica set' ? '?replicaSet=rs0' : ''}`
  }

  /** The servers; each can be stopped, started, hung and resumed separately. */
  get members (): readonly Member[] {
    return this.#deployment.members
  }

  /** The member that accepts writes, if there is one now. */
  get primary (): Member | undefined {
    return this.#deployment.primary
  }

  /** Plays a cue for the next such command, or the next `times`; cues for the same command are played in order. */
  on (command: string, cue: Cue, { times = 1 } = {}): this {
    this.#deployment.cues.add(command, cue, times)
    return this
  }

  /** Removes the cues that have not been played. */
  clearCues (): void {
    this.#deployment.cues.clear()
  }

  /** All stored plants of all databases, by id. */
  plants (): Map<bigint, StoredPlant> {
    return this.#plants(() => true)
  }

  /** The plants that are majority-committed, which no failover can remove. */
  majority (): Map<bigint, StoredPlant> {
    return this.#plants(state => state === 'majority')
  }

  /** The primary steps down; resolves when another one is elected. */
  async stepDown (options: StepDownOptions = {}): Promise<void> {
    await this.#deployment.stepDown(options)
  }

  /** Makes another member the primary immediately, for example after the primary was stopped or hung. */
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

  /** Every member keeps reading, but does not execute or answer anything, including heartbeats. */
  hang (): void {
    for (const member of this.members) member.hang()
  }

  /** The members resume, with the requests received since; with `forget`, without them. */
  resume (options: { forget?: boolean } = {}): void {
    for (const member of this.members) member.resume(options)
  }

  /** Delays every answer from now on; 0 ends the delay. */
  delayAnswers (ms: number): void {
    this.#deployment.answerDelayMs = ms
  }

  /** Closes every connection; new ones are accepted. */
  disconnect (): void {
    for (const member of this.members) member.disconnect()
  }

  /** Every process dies: connections close, and new ones are refused. Stored documents remain. */
  async stop (): Promise<void> {
    await Promise.all(this.members.map(async member => { await member.stop() }))
  }

  /** Starts the stopped members again, on the same ports. */
  async start (): Promise<void> {
    await Promise.all(this.members.map(async member => { await member.start() }))
  }

  /** Closes it. May be called twice. */
  async close (): Promise<void> {
    this.#deployment.replication.interrupt()
    await this.stop()
    this.#deployment.close()
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
