import { Worker } from 'node:worker_threads'
import type { SqliteAnswer, SqliteRequest } from './sqlite-worker.js'

/** One worker thread with the open database; once it has ended, another has to be started. */
export class SqliteThread {
  readonly #worker: Worker
  readonly #expected: ((answer: SqliteAnswer) => void)[] = []
  readonly #exit: Promise<void>
  #ended = false
  /** How the opening went. */
  readonly opened: Promise<SqliteAnswer>

  constructor (path: string) {
    this.#worker = new Worker(new URL('./sqlite-worker.js', import.meta.url), { workerData: { path } })
    this.opened = this.#answer()
    let fault = 'the database thread ended'
    this.#worker.on('message', (answer: SqliteAnswer) => {
      if (answer.kind !== 'done') this.#ended = answer.kind === 'unusable' || answer.ends
      this.#expected.shift()?.(answer)
    })
    this.#worker.on('error', error => { fault += `: ${error.message}` })
    this.#exit = new Promise(resolve => {
      this.#worker.on('exit', () => {
        this.#ended = true
        // What it was doing when it died is not known.
        for (const tell of this.#expected.splice(0)) tell({ kind: 'failed', message: fault, perhapsStored: true, ends: true })
        resolve()
      })
    })
  }

  get ended (): boolean {
    return this.#ended
  }

  /** Sends a request behind those that were sent before; resolves with its answer, also where the thread dies. */
  ask (request: SqliteRequest): Promise<SqliteAnswer> {
    const answer = this.#answer()
    this.#worker.postMessage(request, request.kind === 'write' ? [request.plants.ids.buffer as ArrayBuffer] : [])
    return answer
  }

  async end (): Promise<void> {
    this.#worker.postMessage({ kind: 'close' } satisfies SqliteRequest)
    await this.#exit
  }

  #answer (): Promise<SqliteAnswer> {
    return new Promise(resolve => { this.#expected.push(resolve) })
  }
}
