import type { LoadJob, LoadResult } from './load-job.js'
import type { LoadMessage } from './load-process.js'
import { forkModule } from './start-process.js'

export interface Watcher { opened?: () => void, closed?: () => void }

export interface ForkedLoad {
  pid: number
  run: (job: LoadJob, watcher?: Watcher) => Promise<LoadResult>
  stop: () => Promise<void>
}

/** A load process of its own, for one job after the other. It starts while its caller starts the server. */
export function forkedLoad (pin?: string): ForkedLoad {
  const { child, stop } = forkModule(new URL('load-process.js', import.meta.url), pin)
  const isReady = new Promise<void>((resolve) => { child.once('message', () => resolve()) })
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`the load generator ended by itself: ${signal ?? code}`)))
  })
  failed.catch(() => {})

  async function run (job: LoadJob, watcher: Watcher = {}): Promise<LoadResult> {
    await Promise.race([isReady, failed])
    let hear: (message: LoadMessage) => void = () => {}
    const result = new Promise<LoadResult>((resolve, reject) => {
      hear = (message) => {
        switch (message.kind) {
          case 'opened': watcher.opened?.(); break
          case 'closed': watcher.closed?.(); break
          case 'result': resolve(message.result); break
          case 'failed': reject(new Error(message.message))
        }
      }
      child.on('message', hear)
      child.send(job)
    })
    try {
      return await Promise.race([result, failed])
    } finally {
      child.off('message', hear)
    }
  }
  return { pid: child.pid as number, run, stop }
}
