import { PlantNotStored, PlantPerhapsStored, StoreUnusable, type CreateOutcome, type NewPlant } from './plant-store.js'
import type { BatchWriter, WriteResult } from './shared-writes.js'
import type { PlantColumns } from './sqlite-plants-table.js'
import { SqliteThread } from './sqlite-thread.js'
import type { SqliteAnswer, SqliteRequest } from './sqlite-worker.js'

const OUTCOMES: readonly CreateOutcome[] = ['stored', 'same', 'taken']

/** Writes batches of plants through a worker thread, and starts a new one where that has died or given up. */
export class SqliteWriter implements BatchWriter {
  /** One connection writes at a time; what comes in the meantime is the next transaction. */
  readonly maxInFlight = 1
  readonly #path: string
  #thread: SqliteThread | undefined
  #lastWriteFailed = false

  constructor (path: string) {
    this.#path = path
  }

  async write (plants: readonly NewPlant[]): Promise<readonly WriteResult[]> {
    const answer = await this.#ask({ kind: 'write', plants: columnsOf(plants) })
    this.#lastWriteFailed = answer.kind !== 'done'
    if (answer.kind === 'done') {
      const { outcomes } = answer
      return plants.map((_, i) => outcomes === null ? 'stored' : OUTCOMES[outcomes[i] as number] as CreateOutcome)
    }
    const perhaps = answer.kind === 'failed' && answer.perhapsStored
    const failure = new (perhaps ? PlantPerhapsStored : PlantNotStored)(`SQLite: ${answer.message}`)
    return plants.map(() => failure)
  }

  /**
   * Resolves where a write would be possible now.
   * @throws {StoreUnusable} where the file is not ours to write
   */
  async check (): Promise<void> {
    const answer = await this.#ask({ kind: 'check', thoroughly: this.#lastWriteFailed })
    if (answer.kind === 'done') {
      this.#lastWriteFailed = false
    } else {
      throw new (answer.kind === 'unusable' ? StoreUnusable : Error)(`SQLite: ${answer.message}`)
    }
  }

  async close (): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    if (thread !== undefined && !thread.ended) await thread.end()
  }

  async #ask (request: SqliteRequest): Promise<SqliteAnswer> {
    let thread = this.#thread
    if (thread === undefined || thread.ended) {
      try {
        thread = this.#thread = new SqliteThread(this.#path)
      } catch (error) {
        const message = `no thread for the database could be started: ${(error as Error).message}`
        return { kind: 'failed', message, perhapsStored: false, ends: true }
      }
    }
    const opened = await thread.opened
    return opened.kind === 'done' ? thread.ask(request) : opened
  }
}

function columnsOf (plants: readonly NewPlant[]): PlantColumns {
  const ids = new BigInt64Array(plants.length)
  const names = new Array<string>(plants.length)
  const tags = new Array<string | null>(plants.length)
  for (let i = 0; i < plants.length; i++) {
    const { id, name, tag = null } = plants[i] as NewPlant
    ids[i] = id
    names[i] = name
    tags[i] = tag
  }
  return { ids, names, tags }
}
