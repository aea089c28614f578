import { nextShot } from './cases.js'
import { closedLoop } from './closed-loop.js'
import { leanClosedLoop } from './lean-closed-loop.js'
import type { LoadJob, LoadResult, LoadWatcher } from './load-job.js'
import { openLoop } from './open-loop.js'

export async function runLoad (job: LoadJob, watcher: LoadWatcher): Promise<LoadResult> {
  const next = nextShot(job.caseName, job.target, job.order)
  if (job.rate !== undefined) return await openLoop({ ...job, rate: job.rate }, next, watcher)
  return await (job.generator === 'lean' ? leanClosedLoop : closedLoop)(job, next, watcher)
}
