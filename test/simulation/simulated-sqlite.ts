import { EventEmitter } from 'node:events'
import type { RowResult } from '../../src/stores/sqlite/plants-table.js'
import type { Failure } from '../../src/stores/sqlite/sqlite-error.js'
import type { SqliteAnswer, SqliteRequest } from '../../src/stores/sqlite/sqlite-worker.js'
import { SimulatedStore, textOf } from './simulated-store.js'
import type { Fault } from './story.js'

const REFUSED: Failure = { kind: 'refused', message: 'refused' }

/** A database file whose transactions are durable once they are committed, and the threads that write to it. */
export class SimulatedSqlite extends SimulatedStore {
  readonly startThread = (): SimulatedThread => {
    const fault = this.takeFault('connect')
    if (fault !== undefined) {
      this.faultBegins()()
      throw Object.assign(new Error('no thread'), { code: 'ERR_WORKER_INIT_FAILED' })
    }
    return new SimulatedThread(this)
  }

  /** Executes a request. Calls back once, with the answer, or with nothing if the thread dies. */
  serve (
    request: Exclude<SqliteRequest, 'close'>, done: (answer: SqliteAnswer | undefined) => void
  ): void {
    if ('check' in request) return this.#after(() => done('writable'))
    this.writes++
    const fault = this.takeFault('write')
    const ends = fault === undefined ? () => {} : this.faultBegins()
    const ids = request.map(([id]) => id)
    const texts = request.map(([, name, tag]) => textOf({ name, tag: tag ?? undefined }))
    const plants = texts.map((text, i) => `${ids[i]} ${text}`).join(', ')
    this.log?.(fault === undefined ? `write of ${plants}` : `write of ${plants} meets ${JSON.stringify(fault)}`)
    if (fault?.kind === 'dies' || fault?.kind === 'slow') this.isUncertain = true
    this.#after(() => {
      ends()
      done(this.#answer(ids, texts, fault))
    }, fault?.kind === 'slow' ? fault.after : 0)
  }

  #answer (ids: readonly bigint[], texts: readonly string[], fault: Fault | undefined): SqliteAnswer | undefined {
    if (fault?.kind === 'dies') {
      if (fault.stores) this.#write(ids, texts)
      return undefined
    }
    if (fault?.kind === 'fails') {
      if (fault.perhaps) this.isUncertain = true
      if (fault.permanent) this.hasRefused = true
      if (fault.perhaps && fault.stores) this.#write(ids, texts)
      const kind = kindOf(fault)
      const mayClose = kind !== 'refused' && this.random.chance(0.5)
      return { kind, message: 'failed', ...mayClose && { closes: true } }
    }
    return this.#write(ids, texts)
  }

  #write (ids: readonly bigint[], texts: readonly string[]): SqliteAnswer {
    const outcomes = texts.map((text, i): RowResult => {
      const id = ids[i] ?? 0n
      if (this.isPoisoned(id)) return REFUSED
      if (this.insert(id, text, true)) return 'stored'
      return this.durable(id) === text ? 'same' : 'taken'
    })
    return outcomes.every(outcome => outcome === 'stored') ? 'all stored' : outcomes
  }

  #after (task: () => void, more = 0): void {
    this.clock.setTimeout(task, 1 + this.random.below(4) + more)
  }
}

function kindOf ({ perhaps, permanent }: { perhaps: boolean, permanent: boolean }): Failure['kind'] {
  if (perhaps) return 'unknown'
  return permanent ? 'refused' : 'busy'
}

/** Like a worker thread, opens the file first, and processes one request after the other. */
class SimulatedThread extends EventEmitter {
  readonly #sqlite: SimulatedSqlite
  readonly #requests: SqliteRequest[] = []
  #isBusy = true
  #hasEnded = false

  constructor (sqlite: SimulatedSqlite) {
    super()
    this.#sqlite = sqlite
    sqlite.clock.setTimeout(() => {
      this.emit('message', { openedFile: 'simulated' })
      this.#isBusy = false
      this.#next()
    }, 1)
  }

  ref (): void {}

  unref (): void {}

  postMessage (request: SqliteRequest): void {
    if (Array.isArray(request)) this.#sqlite.writesInFlight++
    this.#requests.push(request)
    this.#next()
  }

  #next (): void {
    const [request] = this.#requests
    if (request === undefined || this.#isBusy || this.#hasEnded) return
    this.#isBusy = true
    this.#requests.shift()
    if (request === 'close') return this.#end()
    this.#sqlite.serve(request, answer => {
      this.#isBusy = false
      if (Array.isArray(request)) this.#sqlite.writesInFlight--
      if (answer === undefined) return this.#end()
      this.emit('message', answer)
      if ((answer as Failure).closes) return this.#end()
      this.#next()
    })
  }

  #end (): void {
    this.#hasEnded = true
    this.#sqlite.writesInFlight -= this.#requests.filter(request => Array.isArray(request)).length
    this.#sqlite.clock.setTimeout(() => this.emit('exit', 0), 1)
  }
}
