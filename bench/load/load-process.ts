import { messageOf } from '../../src/error-message.js'
import { closedLoop } from './closed-loop.js'
import { openLoop } from './open-loop.js'
import { createRequests } from './requests.js'
import type { LoadJob } from './window.js'

/** The load generator's process: it runs one job at a time, and replies with the result or the error. */
process.once('disconnect', () => process.exit())
process.on('message', async (job: LoadJob) => {
  const next = createRequests(job.url, job.token)
  try {
    const result = job.rate === undefined ? await closedLoop(job, next) : await openLoop(job, job.rate, next)
    process.send?.({ result })
  } catch (error) {
    process.send?.({ fault: messageOf(error) })
  }
})
