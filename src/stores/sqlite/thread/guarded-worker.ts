import { Worker } from 'node:worker_threads'
import { TerminationGuard } from './termination-guard.js'

/** The guards of all running threads: the process exits once each is between two tasks. */
const running = new Set<TerminationGuard>()
const stopAll = (): void => { for (const guard of running) guard.stop() }

/** Drops `--input-type`, which a thread inherits from `node --input-type=module -e …` and cannot start with. */
function withoutInputType (): { execArgv?: string[] } {
  return process.execArgv.some(argument => argument.startsWith('--input-type')) ? { execArgv: [] } : {}
}

/** The arguments of a thread. */
export interface ThreadData {
  /** The database file. */
  path: string
  /** Whether an earlier thread had it open. */
  wasOpen: boolean
  /** The memory of its `TerminationGuard`. */
  guard: SharedArrayBuffer
}

/** The thread of a database. However it is terminated, it first completes its current task. */
export class GuardedWorker extends Worker {
  readonly #guard: TerminationGuard

  constructor (path: string, wasOpen: boolean) {
    const guard = new TerminationGuard()
    const workerData: ThreadData = { path, wasOpen, guard: guard.memory }
    super(new URL('./sqlite-worker.js', import.meta.url), { workerData, ...withoutInputType() })
    this.#guard = guard
    if (running.size === 0) process.on('exit', stopAll)
    running.add(guard)
    this.on('exit', () => {
      running.delete(guard)
      if (running.size === 0) process.off('exit', stopAll)
    })
  }

  override async terminate (): Promise<number> {
    this.#guard.stop()
    return super.terminate()
  }
}
