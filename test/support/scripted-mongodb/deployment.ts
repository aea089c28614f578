import { ObjectId } from 'bson'
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { CueQueues } from './cue-queues.js'
import { Member } from './member.js'
import { Memory } from './memory.js'
import { Replication } from './replication.js'

/** The kind of deployment. */
export type Kind = 'standalone' | 'replica set' | 'mongos'

/** What happens when a primary steps down. */
export interface StepDownOptions {
  /** Milliseconds without a primary. */
  readonly electAfter?: number
  /** The new primary does not have the writes that were not majority-committed. */
  readonly rollBack?: boolean
  /** The old primary also closes its connections. */
  readonly closeConnections?: boolean
}

/** One member or three, and what they share: documents and cues. */
export class Deployment {
  readonly kind: Kind
  readonly members: readonly Member[]
  readonly memory = new Memory()
  readonly replication = new Replication(this.memory)
  readonly cues = new CueQueues()
  /** Milliseconds by which every answer is delayed. */
  answerDelayMs = 0
  #primary: Member | undefined
  #former: Member
  #term = 1
  #election: Promise<void> | undefined
  readonly #end = new AbortController()

  constructor (kind: Kind) {
    this.kind = kind
    setMaxListeners(0, this.#end.signal)
    this.members = Array.from({ length: kind === 'replica set' ? 3 : 1 }, () => new Member(this))
    this.#primary = this.#former = this.members[0]!
  }

  /** The member that accepts writes; undefined between a step-down and the election. */
  get primary (): Member | undefined {
    return this.#primary
  }

  /** Grows with the term, as a replica set's does: the driver trusts the primary with the highest one. */
  get electionId (): ObjectId {
    return new ObjectId('7fffffff' + this.#term.toString(16).padStart(16, '0'))
  }

  /** The primary steps down; resolves when another member is elected. */
  async stepDown ({ electAfter = 0, rollBack = false, closeConnections = false }: StepDownOptions): Promise<void> {
    const old = this.#former
    this.#election ??= this.#awaitElection(electAfter, rollBack)
    if (closeConnections) old.disconnect()
    await this.#election
  }

  /** Makes a member other than the last primary the new primary immediately. */
  elect (rollBack: boolean): void {
    if (this.kind !== 'replica set') throw new Error(`a ${this.kind} elects no primary`)
    const elected = this.#candidate
    if (elected === undefined) throw new Error('no member is left to be elected')
    this.replication.interrupt()
    if (rollBack) this.replication.rollBack()
    this.replication.catchUp()
    this.#term++
    this.#become(elected)
  }

  /** Waits, until `close` at the latest: no timer outlives the server. */
  async wait (ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#end.signal }).catch(() => {})
  }

  /** Ends all waits; code that was waiting must not continue an election. */
  close (): void {
    this.#end.abort()
  }

  /** The next healthy member other than the last primary. */
  get #candidate (): Member | undefined {
    const after = this.members.indexOf(this.#former) + 1
    return [...this.members.slice(after), ...this.members.slice(0, after - 1)].find(member => member.isHealthy)
  }

  /** Whether an election is still needed, which is not the case after `close` or once there is a primary. */
  get #needsElection (): boolean {
    return !this.#end.signal.aborted && this.#primary === undefined
  }

  async #awaitElection (electAfter: number, rollBack: boolean): Promise<void> {
    if (this.kind !== 'replica set') throw new Error(`a ${this.kind} has no primary to step down`)
    this.#become(undefined)
    this.replication.interrupt()
    try {
      await this.wait(electAfter)
      while (this.#needsElection && this.#candidate === undefined) await this.wait(10)
      if (this.#needsElection) this.elect(rollBack)
    } finally {
      this.#election = undefined
    }
  }

  #become (primary: Member | undefined): void {
    this.#primary = primary
    this.#former = primary ?? this.#former
    for (const member of this.members) member.topologyVersion.bump()
  }
}
