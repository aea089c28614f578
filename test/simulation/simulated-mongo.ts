import { Long } from 'bson'
import type { MongoCollection, MongoDatabase, MongoDriverClient } from '../../src/stores/mongo/mongo-driver.js'
import { fieldsOf, SimulatedStore, textOf } from './simulated-store.js'
import type { Fault } from './story.js'

interface PlantDocument { _id: bigint, name: string, tag?: string }

interface InsertCommand {
  documents: PlantDocument[]
  ordered: boolean
  writeConcern: { w: unknown }
}

interface WriteError { index: number, code: number, errmsg: string }

interface Commit {
  documents: readonly PlantDocument[]
  settle: (isDurable: boolean) => void
}

/** An error as the driver throws it. */
class DriverError extends Error {
  constructor (override readonly name: string, message: string, fields: object = {}) {
    super(message)
    Object.assign(this, fields)
  }
}

const LARGEST_DOCUMENT = 2 ** 24
const REFUSED = [13, 121]

/**
 * MongoDB and its driver, as far as the writer uses them: a replica set whose writes can be lost until they reach the
 * majority.
 */
export class SimulatedMongo extends SimulatedStore {
  #isLagging = false
  #commits: Commit[] = []

  /** Makes a client, and the collection of plants on it. */
  connect (): MongoCollection {
    const { serverSelectionTimeoutMS, socketTimeoutMS } = this
    const client: MongoDriverClient = {
      options: { dbName: 'simulated', serverSelectionTimeoutMS, socketTimeoutMS },
      db: () => database,
      close: async () => {}
    }
    const database: MongoDatabase = {
      client,
      databaseName: 'simulated',
      collection: () => plants,
      command: (command, options) => this.#command(command as InsertCommand, options as { signal: AbortSignal })
    }
    const plants: MongoCollection = {
      collectionName: 'plants',
      db: database,
      find: (filter, options) => ({
        toArray: () => this.#find(
          (filter as { _id: { $in: bigint[] } })._id.$in,
          options as { readConcern: unknown, signal: AbortSignal }
        )
      })
    }
    return plants
  }

  get serverSelectionTimeoutMS (): number {
    return this.story.storeTimeout / 5
  }

  /** A host's client waits for ever, by default. */
  get socketTimeoutMS (): number {
    const { ownClient, storeTimeout } = this.story
    return ownClient ? storeTimeout / 2 : 0
  }

  /** Loses the writes that have not reached the majority. Their clients get an error, or only a closed connection. */
  rollBack (): void {
    this.isUncertain = true
    this.lastFault = this.clock.now()
    const commits = this.#commits.splice(0)
    for (const [id, { isDurable }] of this.plants) if (!isDurable) this.plants.delete(id)
    for (const { settle } of commits) settle(false)
  }

  lag (): void {
    this.isUncertain = true
    this.#isLagging = true
  }

  catchUp (): void {
    if (this.#isLagging) this.lastFault = this.clock.now()
    this.#isLagging = false
    for (const commit of this.#commits.splice(0)) this.#commit(commit)
  }

  override heal (): void {
    super.heal()
    this.catchUp()
  }

  get isLagging (): boolean {
    return this.#isLagging
  }

  #command (command: InsertCommand, { signal }: { signal: AbortSignal }): Promise<object> {
    const { documents } = command
    const isTooLarge = documents.some(({ name }) => name.length > LARGEST_DOCUMENT)
    if (isTooLarge) return Promise.reject(new RangeError('out of range'))
    this.writes++
    this.writesInFlight++
    const number = this.writes
    const fault = this.takeFault('connect') ?? this.takeFault('write')
    const plants = () => documents.map(document => `${document._id} ${textOf(document)}`).join(', ')
    this.log?.(`insert ${number} of ${plants()}${fault === undefined ? '' : ` meets ${JSON.stringify(fault)}`}`)
    const ends = fault === undefined ? () => {} : this.faultBegins()
    return new Promise<object>((resolve, reject) => {
      signal.addEventListener('abort', () => {
        // Even without a fault, it took longer than the request had time.
        this.isUncertain = true
        reject(signal.reason)
      }, { once: true })
      if (fault?.kind === 'unsent') this.#failUnsent(fault, reject)
      else this.#run(command, fault, resolve, reject)
    }).finally(() => {
      ends()
      this.writesInFlight--
      this.log?.(`insert ${number} has completed`)
    })
  }

  #run (
    command: InsertCommand, fault: Fault | undefined, resolve: (reply: object) => void, reject: (error: Error) => void
  ): void {
    const { documents } = command
    const latency = this.#latency()
    if (fault?.kind === 'lost') {
      this.isUncertain = true
      const { late, closedAfter } = fault
      if (late !== undefined) this.#after(latency + late, () => this.#execute(command, undefined, () => {}))
      this.#fail(reject, closedAfter, 'MongoNetworkError', 'connection closed')
      return
    }
    if (fault?.kind === 'slow' || this.#isLagging) this.isUncertain = true
    let early: { durable: boolean } | undefined
    if (fault?.kind === 'write concern error') early = { durable: false }
    else if (command.writeConcern.w !== 'majority') early = { durable: true }
    this.#after(latency + (fault?.kind === 'slow' ? fault.after : 0), () => {
      if (this.isBroken(documents.map(({ _id }) => _id))) {
        this.isUncertain = true
        return this.#after(this.#latency(), () => reject(serverError(1, [])))
      }
      if (fault?.kind === 'error') {
        const stores = fault.stores && !REFUSED.includes(fault.code)
        if (REFUSED.includes(fault.code)) this.hasRefused = true
        else if (!fault.labels.includes('NoWritesPerformed')) this.isUncertain = true
        if (stores) this.#execute(command, undefined, () => {})
        return this.#after(this.#latency(), () => reject(serverError(fault.code, fault.labels)))
      }
      this.#execute(command, fault, (writeErrors, isDurable, leftOut) => {
        this.#after(this.#latency(), () => {
          const n = documents.length - writeErrors.length - leftOut
          const errors = writeErrors.length > 0 ? { writeErrors } : {}
          if (fault?.kind === 'write concern error') {
            this.isUncertain = true
            const result = {
              n, ...errors, writeConcernError: { code: fault.code, errmsg: 'waiting for replication timed out' }
            }
            return reject(new DriverError('MongoWriteConcernError', 'waiting for replication timed out', { result }))
          }
          if (isDurable) return resolve({ n, ...errors, ok: 1 })
          reject(this.random.chance(0.5)
            ? new DriverError('MongoNetworkError', 'connection closed')
            : serverError(11602, []))
        })
      }, early)
    })
  }

  /**
   * @param settle called once the stored documents have reached the majority or are lost; immediately if there are none
   * @param early whether the documents are durable, to call `settle` immediately with it
   */
  #execute (
    { documents, ordered }: InsertCommand, fault: Fault | undefined,
    settle: (errors: WriteError[], isDurable: boolean, leftOut: number) => void, early?: { durable: boolean }
  ): void {
    let leftOut = 0
    const errors: WriteError[] = []
    const stored: PlantDocument[] = []
    for (const [index, document] of documents.entries()) {
      const { _id } = document
      const text = textOf(document)
      const fails = fault?.kind === 'write errors' && index % fault.every === 0
      const isLeftOut = fault?.kind === 'not counted' && index % fault.every === 0
      if (isLeftOut) {
        this.isUncertain = true
        leftOut++
      } else if (this.isPoisoned(_id)) {
        errors.push({ index, code: 121, errmsg: 'not valid' })
      } else if (fails) {
        if (REFUSED.includes(fault.code)) this.hasRefused = true
        else this.isUncertain = true
        errors.push({ index, code: fault.code, errmsg: 'scripted' })
        if (fault.stores && !REFUSED.includes(fault.code) && this.insert(_id, text, false)) stored.push(document)
      } else if (this.insert(_id, text, false)) {
        stored.push(document)
      } else {
        errors.push({ index, code: 11000, errmsg: 'E11000 duplicate key' })
        if (this.plants.get(_id)?.isDurable !== true) this.isUncertain = true
      }
      if (ordered && errors.length > 0) break
    }
    if (stored.length === 0) return settle(errors, true, leftOut)
    if (early !== undefined) settle(errors, early.durable, leftOut)
    const commit: Commit = {
      documents: stored,
      settle: isDurable => { if (early === undefined) settle(errors, isDurable, leftOut) }
    }
    this.#commits.push(commit)
    if (!this.#isLagging) this.#after(this.#latency(), () => { if (!this.#isLagging) this.#commit(commit) })
  }

  #commit (commit: Commit): void {
    const index = this.#commits.indexOf(commit)
    if (index >= 0) this.#commits.splice(index, 1)
    // They may have been lost in the meantime, and stored again by another request.
    for (const document of commit.documents) {
      const plant = this.plants.get(document._id)
      if (plant?.text === textOf(document)) plant.isDurable = true
    }
    commit.settle(commit.documents.every(document => this.durable(document._id) === textOf(document)))
  }

  #find (
    ids: readonly bigint[], { readConcern, signal }: { readConcern: unknown, signal: AbortSignal }
  ): Promise<object[]> {
    const fault = this.takeFault('read')
    const ends = fault === undefined ? () => {} : this.faultBegins()
    if (fault !== undefined) this.isUncertain = true
    return new Promise<object[]>((resolve, reject) => {
      signal.addEventListener('abort', () => {
        this.isUncertain = true
        reject(signal.reason)
      }, { once: true })
      if (fault?.kind === 'lost') return this.#fail(reject, fault.closedAfter, 'MongoNetworkError', 'connection closed')
      this.#after(this.#latency() + (fault?.kind === 'slow' ? fault.after : 0), () => {
        if (fault?.kind === 'error') return reject(serverError(fault.code, fault.labels))
        const found = ids.flatMap(_id => {
          const text = readConcern === 'majority' ? this.durable(_id) : this.plants.get(_id)?.text
          return text === undefined ? [] : [{ _id: Long.fromBigInt(_id), ...fieldsOf(text) }]
        })
        this.#after(this.#latency(), () => resolve(found))
      })
    }).finally(ends)
  }

  /** Fails after a number of milliseconds, or when the driver times out. */
  #fail (reject: (error: Error) => void, after: number | undefined, name: string, message: string): void {
    const { socketTimeoutMS } = this
    const timeout = new DriverError('MongoNetworkTimeoutError', 'connection timed out')
    if (after !== undefined) this.#after(after, () => reject(new DriverError(name, message)))
    else if (socketTimeoutMS > 0) this.#after(socketTimeoutMS, () => reject(timeout))
  }

  #failUnsent ({ error, after }: Extract<Fault, { kind: 'unsent' }>, reject: (error: Error) => void): void {
    this.#after(Math.min(after, this.serverSelectionTimeoutMS), () => {
      switch (error) {
        case 'selection': return reject(new DriverError('MongoServerSelectionError', 'selection timed out'))
        case 'checkout': return reject(new DriverError('MongoWaitQueueTimeoutError', 'no connection in time'))
        case 'cleared': return reject(new DriverError('MongoPoolClearedError', 'the pool was cleared'))
        case 'handshake': return reject(serverError(91, ['HandshakeError']))
        case 'connection': {
          const errorLabels = ['SystemOverloadedError', 'RetryableError']
          reject(new DriverError('MongoNetworkError', 'connection refused', { errorLabels }))
        }
      }
    })
  }

  #latency (): number {
    return 1 + this.random.below(6)
  }

  #after (milliseconds: number, task: () => void): void {
    this.clock.setTimeout(task, milliseconds)
  }
}

function serverError (code: number, errorLabels: string[]): Error {
  return new DriverError('MongoServerError', `error ${code}`, { code, errorLabels })
}
