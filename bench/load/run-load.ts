import { closedLoop } from './closed-loop.js'
import { MeasurementWindow, type LoadJob, type LoadResult } from './measurement-window.js'
import { openLoop } from './open-loop.js'
import { createRequests } from './requests.js'

/** Runs an open loop if the job has a rate, otherwise a closed loop. */
export async function runLoad (job: LoadJob): Promise<LoadResult> {
  const next = createRequests(job.url, job.token)
  const window = new MeasurementWindow()
  return job.rate === undefined
    ? await closedLoop(job, window, next)
    : await openLoop(job, job.rate, window, next)
}
