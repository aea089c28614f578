import type { LoadJob, LoadResult } from './load-job.js'
import { runLoad } from './run-load.js'

/** Forked by forked-load.ts: the load generator has a process, a heap and, pinned, a core of its own. */
export type LoadMessage =
  | { kind: 'ready' } | { kind: 'opened' } | { kind: 'closed' }
  | { kind: 'result', result: LoadResult } | { kind: 'failed', message: string }

function tell (message: LoadMessage): void {
  process.send?.(message)
}

process.once('disconnect', () => process.exit())
process.on('message', (job: LoadJob) => {
  runLoad(job, { opened: () => tell({ kind: 'opened' }), closed: () => tell({ kind: 'closed' }) })
    .then((result) => tell({ kind: 'result', result }), (error: Error) => tell({ kind: 'failed', message: error.message }))
})
tell({ kind: 'ready' })
