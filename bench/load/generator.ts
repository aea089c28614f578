import { forkModule } from '../run/start-process.js'
import type { LoadJob, LoadResult } from './window.js'

export type Generator = ReturnType<typeof startGenerator>

/** Starts a load generator in a separate process, which stays warm for all jobs. */
export function startGenerator () {
  const { child, stop } = forkModule(new URL('load-process.js', import.meta.url))
  const run = (job: LoadJob): Promise<LoadResult> => new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('the load generator exited unexpectedly'))
    child.once('exit', onExit)
    child.once('message', ({ result, fault }: { result: LoadResult, fault?: string }) => {
      child.off('exit', onExit)
      if (fault === undefined) resolve(result)
      else reject(new Error(fault))
    })
    child.send(job)
  })
  return { pid: child.pid, run, stop }
}
