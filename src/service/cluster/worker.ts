import cluster from 'node:cluster'
import type { Server } from 'node:http'
import { Socket } from 'node:net'
import closeWithGrace from 'close-with-grace'
import type { Configuration } from '../config/configuration.js'
import { createStore, hasOneWriter } from '../create-store.js'
import { formatError } from '../format-error.js'
import { shutdownTimeoutMs } from '../http/drain.js'
import { createLogger } from '../logging/logger.js'
import { startService, type LocalService } from '../service.js'
import { STORE_CHANNEL, type FromWorker, type ToWorker } from './messages.js'
import { RemotePlantStore } from './remote-plant-store.js'

/** Milliseconds after which the last worker stops waiting for another one that is stuck. */
const DISCONNECT_TIMEOUT_MS = 2_500

/** Each of them shuts the worker down. */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGUSR2'] as const

/** Runs the service as one of the processes that share the port, controlled by the primary process. */
export function runWorker (): void {
  let running: LocalService | undefined
  let starting: Promise<void> | undefined
  let shutdown = (): void => process.exit(0)
  let isLast = false

  async function start (configuration: Configuration): Promise<void> {
    const log = await createLogger(configuration, process.stdout)
    try {
      const store = hasOneWriter(configuration)
        ? new RemotePlantStore(new Socket({ fd: STORE_CHANNEL }))
        : await createStore(configuration)
      running = await startService({ configuration, store, log, sharedPort: { closesLast, closed: () => { send({ kind: 'portClosed' }) } } })
    } catch (error) {
      await send({ kind: 'unusable', message: formatError(error) })
      process.exit(1)
    }
    const { close } = closeWithGrace(
      // These signals are handled below.
      { delay: shutdownTimeoutMs(configuration), logger: log, skip: ['SIGHUP', ...SIGNALS] },
      async ({ err }) => {
        shutdown = () => {}
        if (err) log.fatal({ err }, 'shutting down after an uncaught error')
        await running?.shutdown()
        await send({ kind: 'report', metrics: await running?.counters() ?? [] })
      }
    )
    shutdown = close
    send({ kind: 'ready', address: running.address })
  }

  async function closesLast (servers: readonly Server[]): Promise<boolean> {
    if (!isLast) return false
    const disconnected = interceptClose(servers)
    send({ kind: 'disconnectable' })
    await disconnected
    return true
  }

  process.on('message', async (message: ToWorker) => {
    if (message.kind === 'start') starting = start(message.configuration)
    else if (message.kind === 'reload') {
      await starting
      running?.reload(message.credentials)
    } else if (message.kind === 'shutdown') {
      isLast = message.isLast
      shutdown()
    } else {
      const { requestId } = message
      const metrics = requestId === undefined ? await running?.counters() : (await running?.metrics())?.flat()
      send({ kind: 'report', requestId, metrics: metrics ?? [] })
    }
  })
  // A terminal and some supervisors signal all processes at once, and the primary sends its message too: only the first
  // of them counts.
  for (const signal of SIGNALS) process.on(signal, () => { shutdown() })
  // The channel is broken: the primary has exited.
  cluster.worker?.on('error', () => process.exit(1))
  send({ kind: 'online' })
}

/**
 * Waits until the primary disconnects this worker: node:cluster then calls `close` of its servers. Here the call only
 * ends the wait, since closing the servers would close idle connections too.
 */
async function interceptClose (servers: readonly Server[]): Promise<void> {
  await new Promise<void>(resolve => {
    for (const server of servers) {
      server.close = () => {
        resolve()
        return server
      }
    }
    setTimeout(resolve, DISCONNECT_TIMEOUT_MS)
  })
  for (const server of servers) Reflect.deleteProperty(server, 'close')
}

/** Sends a message; resolves when the pipe has taken it. */
async function send (message: FromWorker): Promise<void> {
  // Once the primary has exited, nobody receives it, and Node exits this process too.
  if (process.connected) {
    await new Promise<unknown>(resolve => {
      process.send?.(message, undefined, undefined, resolve)
    })
  }
}
