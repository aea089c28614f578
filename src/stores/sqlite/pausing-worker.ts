import { Worker } from 'node:worker_threads'
import { ThreadPause } from './thread-pause.js'

/** The pauses of all running threads, which the exit of the process waits for. */
const running = new Set<ThreadPause>()
const stopAll = (): void => { for (const pause of running) pause.stop() }

/** Options that a thread inherits from `node --input-type=module -e …` and that would keep it from starting. */
function inherited (): { execArgv?: string[] } {
  return process.execArgv.some(argument => argument.startsWith('--input-type')) ? { execArgv: [] } : {}
}

/** The arguments of a thread. */
export interface ThreadData {
  /** The database file. */
  path: string
  /** Whether an earlier thread had it open. */
  again: boolean
  /** The memory of its `ThreadPause`. */
  pause: SharedArrayBuffer
}

/** The thread of a database. However it is terminated, it first reaches a pause. */
export class PausingWorker extends Worker {
  readonly #pause: ThreadPause

  constructor (path: string, again: boolean) {
    const pause = new ThreadPause()
    const workerData: ThreadData = { path, again, pause: pause.memory }
    super(new URL('./sqlite-worker.js', import.meta.url), { workerData, ...inherited() })
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
