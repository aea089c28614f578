import cluster from 'node:cluster'
import closeWithGrace from 'close-with-grace'
import type { Configuration } from './configuration.js'
import { longestEnd } from './longest-end.js'
import { createLogger } from './logger.js'
import type { Running } from './running.js'
import { startFault } from './start-fault.js'
import { startService } from './service.js'
import type { FromWorker, Point, ToWorker } from './worker-messages.js'

/** A worker that has died cannot come to the point. */
const LONGEST_WAIT = 2_500

/** Runs the service as one of the processes that share the port; the first process tells it what to do. */
export function runWorker (): void {
  let running: Running | undefined
  let end = (): void => process.exit(0)
  const waiting = new Map<Point, () => void>()

  async function start (configuration: Configuration): Promise<void> {
    const log = await createLogger(configuration, process.stdout)
    try {
      running = await startService({ configuration, log, together })
    } catch (error) {
      process.send?.({ kind: 'unusable', message: startFault(error) } satisfies FromWorker, () => process.exit(1))
      return
    }
    const { close } = closeWithGrace({ delay: longestEnd(configuration), logger: log, skip: signals }, async ({ err }) => {
      if (err) log.fatal({ err }, 'ends after a fault')
      await running?.end()
    })
    end = () => {
      end = () => {}
      close()
    }
    tell({ kind: 'ready', address: running.address })
  }

  async function together (point: Point): Promise<void> {
    tell({ kind: 'reached', point })
    await new Promise<void>(resolve => {
      waiting.set(point, resolve)
      setTimeout(resolve, LONGEST_WAIT)
    })
  }

  process.on('message', async (message: ToWorker) => {
    if (message.kind === 'start') await start(message.configuration)
    else if (message.kind === 'reload') running?.reload(message.credentials)
    else if (message.kind === 'go') waiting.get(message.point)?.()
    else if (message.kind === 'end') end()
    else tell({ kind: 'metrics', question: message.question, data: (await running?.metrics())?.[0] ?? [] })
  })
  // A terminal and some supervisors signal all processes at once, and the first process sends its word as well: here
  // any of them is the same as the first.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => { end() })
  process.on('SIGHUP', () => {})
  // The first process is gone, and the port with it.
  cluster.worker?.on('error', () => process.exit(1))
  tell({ kind: 'here' })
}

/** Those that close-with-grace would take for the end; others end the process as they always do. */
const signals: closeWithGrace.AllEvents[] = ['SIGHUP', 'SIGINT', 'SIGTERM']

function tell (message: FromWorker): void {
  // Without the first process there is nobody to tell, and Node ends this one.
  if (process.connected) process.send?.(message)
}
