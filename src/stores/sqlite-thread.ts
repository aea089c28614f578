import { Worker } from 'node:worker_threads'
import type { SqliteAnswer, SqliteRequest } from './sqlite-worker.js'
import { ThreadPause } from './thread-pause.js'

/** The pauses of all threads that run: a process that exits ends them. */
const running = new Set<ThreadPause>()
const stopAll = (): void => { for (const pause of running) pause.stop() }

/** What a thread takes over from `node --input-type=module -e …` would keep it from starting. */
function inherited (): { execArgv?: string[] } {
  return process.execArgv.some(argument => argument.startsWith('--input-type')) ? { execArgv: [] } : {}
}

/** A worker that comes to a pause before it ends, whoever ends it. */
class PausingWorker extends Worker {
  readonly #pause: ThreadPause

  constructor (path: string) {
    const pause = new ThreadPause()
    super(new URL('./sqlite-worker.js', import.meta.url), { workerData: { path, pause: pause.memory }, ...inherited() })
    this.#pause = pause
    if (running.size === 0) process.on('exit', stopAll)
    running.add(pause)
    this.on('exit', () => {
      running.delete(pause)
      if (running.size === 0) process.off('exit', stopAll)
    })
  }

  override async terminate (): Promise<number> {
    this.#pause.stop()
    return super.terminate()
  }
}

/** One worker thread with the open database; once it has ended, another has to be started. */
export class SqliteThread {
  readonly #worker: Worker
  readonly #expected: ((answer: SqliteAnswer) => void)[] = []
  readonly #exit: Promise<void>
  #ended = false
  #fault = 'the database thread ended'
  /** How the opening went. */
  readonly opened: Promise<SqliteAnswer>

  constructor (path: string) {
    this.#worker = new PausingWorker(path)
    this.opened = this.#answer()
    this.#worker.on('message', (answer: SqliteAnswer) => {
      if (answer.kind !== 'done') this.#ended = answer.kind === 'unusable' || answer.ends
      this.#expected.shift()?.(answer)
    })
    this.#worker.on('error', error => { this.#fault += `: ${error.message}` })
    this.#exit = new Promise(resolve => {
      this.#worker.on('exit', () => {
        this.#ended = true
        // What it was doing when it died is not known.
        for (const tell of this.#expected.splice(0)) tell({ kind: 'failed', message: this.#fault, perhapsStored: true, ends: true })
        resolve()
      })
    })
  }

  get ended (): boolean {
    return this.#ended
  }

  /** Sends a request behind those that were sent before; resolves with its answer, also where the thread dies or has died. */
  ask (request: SqliteRequest): Promise<SqliteAnswer> {
    // Node may tell of a thread's last answer and of its end in one go.
    if (this.#ended) return Promise.resolve({ kind: 'failed', message: this.#fault, perhapsStored: false, ends: true })
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
