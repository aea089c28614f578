import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import type { PlantStore } from '../../stores/plant-store.js'
import type { Configuration, Credentials } from '../config/configuration.js'
import { createStore, hasOneWriter, openStore } from '../create-store.js'
import { WorkerUnusable } from '../format-error.js'
import { isSocketPath } from '../http/unix-socket.js'
import type { MetricsData } from '../metrics/process-metrics.js'
import type { RunningService } from '../service.js'
import { STORE_CHANNEL, type FromWorker, type ToWorker } from './messages.js'
import { servePlantStore } from './remote-plant-store.js'
import type { WorkersMetrics } from './workers-metrics.js'

const HEARTBEAT_INTERVAL_MS = 1_000
/** Heartbeats in a row: 10 s, longer than a healthy worker blocks its event loop, and less than clients wait. */
const MOST_MISSED = 10
/** A worker that has served for this long did not fail at startup. */
const SETTLED_MS = 1_000
/** Milliseconds until a worker is replaced, doubled after each one that failed at startup. */
const FIRST_RESTART_DELAY_MS = 100
const LONGEST_RESTART_DELAY_MS = 1_000

/**
 * Runs the service in WORKERS processes that share the port. This process reads the configuration and the files, and
 * sends them to the workers, so that all have the same, including one that is started later.
 * @param onFork called with the service before all workers are ready: the first of them may serve already
 * @throws {StoreUnusable} if this process has to write and cannot
 * @throws {WorkerUnusable} if a worker cannot start; the others are killed
 */
export async function startWorkers (
  configuration: Configuration, log: FastifyBaseLogger, onFork: (service: RunningService) => void
): Promise<RunningService> {
  const { HOST, PORT, METRICS_PORT } = configuration
  const metrics = METRICS_PORT === undefined ? undefined : new (await import('./workers-metrics.js')).WorkersMetrics()
  // A free port is chosen once, so that a worker that is started later listens on the same one.
  const port = PORT === 0 && !isSocketPath(HOST) ? await freePort(HOST) : PORT
  const store = hasOneWriter(configuration) ? await createStore(configuration) : undefined
  if (store !== undefined) await openStore(store)
  const workers = new Workers({ ...configuration, PORT: port }, log, metrics, store)
  onFork(workers)
  await workers.start()
  return workers
}

/** One of the WORKERS places for a process. */
interface Slot {
  worker: Worker | undefined
  /** On the clock of `performance.now()`; undefined until the worker is ready. */
  readyAt: number | undefined
  missedHeartbeats: number
  /** Milliseconds until the worker is replaced if it exits now. */
  restartDelayMs: number
  /** Resolves when the worker no longer listens. */
  portClosed: Promise<void> | undefined
}

class Workers implements RunningService {
  address = ''
  readonly #log: FastifyBaseLogger
  readonly #slots: readonly Slot[]
  readonly #metrics: WorkersMetrics | undefined
  /** Where this process stores the plants of all workers. */
  readonly #store: PlantStore | undefined
  #configuration: Configuration
  #isShuttingDown = false

  constructor (configuration: Configuration, log: FastifyBaseLogger, metrics?: WorkersMetrics, store?: PlantStore) {
    this.#metrics = metrics
    this.#store = store
    this.#configuration = configuration
    this.#log = log
    this.#slots = Array.from({ length: configuration.WORKERS }, () => ({
      worker: undefined,
      readyAt: undefined,
      missedHeartbeats: 0,
      restartDelayMs: FIRST_RESTART_DELAY_MS,
      portClosed: undefined
    }))
    // Each worker accepts connections from the kernel itself. With Node's default, SCHED_RR, the primary accepts them
    // and hands them over by message: a connection on its way to a worker that dies is neither answered nor closed.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({
      args: [],
      // Structured clones, since JSON has no NaN, which a metric may be.
      serialization: 'advanced',
      // The last one is STORE_CHANNEL.
      stdio: ['inherit', 'inherit', 'inherit', 'ipc', store === undefined ? 'ignore' : 'pipe']
    })
    // After a second signal, a timeout or a failed startup, workers are left.
    process.on('exit', () => {
      for (const worker of this.#workers()) worker.process.kill('SIGKILL')
    })
    setInterval(() => { this.#poll() }, HEARTBEAT_INTERVAL_MS).unref()
  }

  async start (): Promise<void> {
    try {
      const [address = ''] = await Promise.all(this.#slots.map(slot => this.#fork(slot)))
      this.address = address
    } catch (error) {
      // In a shutdown, the workers that are starting exit, and the others finish their requests.
      if (!this.#isShuttingDown) throw error
    }
  }

  reload (credentials: Credentials): void {
    this.#configuration = { ...this.#configuration, ...credentials }
    for (const worker of this.#workers()) send(worker, { kind: 'reload', credentials })
  }

  async shutdown (): Promise<void> {
    this.#isShuttingDown = true
    const exits = Promise.all(this.#slots.map(async slot => exitsCleanly(slot)))
    const last = this.#slots.find(({ readyAt }) => readyAt !== undefined)
    for (const slot of this.#slots) if (slot.worker !== undefined) send(slot.worker, { kind: 'shutdown', isLast: slot === last })
    const unclean = (await exits).filter(isClean => !isClean).length
    await this.#store?.close?.()
    if (unclean > 0) throw new Error(`workers did not shut down cleanly: ${unclean}`)
  }

  async metrics (): Promise<MetricsData[]> {
    return await this.#metrics?.collect(this.#workers()) ?? []
  }

  #workers (): Worker[] {
    return this.#slots.flatMap(({ worker }) => worker ?? [])
  }

  /**
   * Starts a worker; resolves with its address. Once it is ready, it is replaced when it exits.
   * @throws {Error} if the process cannot be started, or exits before it is ready
   */
  async #fork (slot: Slot): Promise<string> {
    const worker = cluster.fork()
    slot.worker = worker
    slot.missedHeartbeats = 0
    slot.portClosed = closesPort(worker)
    let failure: string | undefined

    return new Promise((resolve, reject) => {
      const exited = (reason: string): void => {
        const { readyAt } = slot
        slot.worker = undefined
        slot.readyAt = undefined
        this.#metrics?.exited(worker)
        reject(new WorkerUnusable(failure ?? `a worker exited (${reason}) before it was ready`))
        if (readyAt === undefined) return
        if (performance.now() - readyAt >= SETTLED_MS) slot.restartDelayMs = FIRST_RESTART_DELAY_MS
        this.#replace(slot, 'a worker exited', { worker: worker.process.pid, reason })
      }
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'report') {
          slot.missedHeartbeats = 0
          this.#metrics?.receive(worker, message)
        } else if (message.kind === 'online') {
          // Messages sent earlier are lost.
          if (this.#isShuttingDown) send(worker, { kind: 'shutdown', isLast: false })
          else this.#sendStart(worker)
        } else if (message.kind === 'ready') {
          slot.readyAt = performance.now()
          resolve(message.address)
        } else if (message.kind === 'disconnectable') {
          this.#disconnect(slot)
        } else if (message.kind === 'unusable') failure = message.message
      })
      worker.on('error', error => {
        reject(error)
        // If the process could not be started (EAGAIN), no 'exit' follows.
        if (worker.process.pid === undefined) exited(error.message)
      })
      worker.on('exit', (code, signal) => { exited(signal ?? `code ${code}`) })
    })
  }

  #replace (slot: Slot, event: string, details: object): void {
    if (this.#isShuttingDown) return
    this.#log.error(details, `${event}; another starts in ${slot.restartDelayMs} ms`)
    setTimeout(() => { this.#restart(slot) }, slot.restartDelayMs)
    slot.restartDelayMs = Math.min(slot.restartDelayMs * 2, LONGEST_RESTART_DELAY_MS)
  }

  #restart (slot: Slot): void {
    if (this.#isShuttingDown) return
    this.#metrics?.countRestart()
    this.#fork(slot).then(
      () => { this.#log.info({ worker: slot.worker?.process.pid }, 'a worker was replaced') },
      (error: Error) => { this.#replace(slot, 'the new worker did not start', { reason: error.message }) })
  }

  #sendStart (worker: Worker): void {
    if (this.#store !== undefined) {
      const socket = worker.process.stdio[STORE_CHANNEL] as Socket
      servePlantStore(socket, this.#store, this.#configuration.QUEUE_BYTES / this.#slots.length)
    }
    send(worker, { kind: 'start', configuration: this.#configuration })
  }

  /**
   * Once the other workers no longer listen, closes this process's own handle of the port. From then on only the last
   * worker holds it, and can choose when to close it.
   */
  async #disconnect (last: Slot): Promise<void> {
    await Promise.all(this.#slots.map(slot => slot !== last && slot.portClosed))
    last.worker?.disconnect()
  }

  /**
   * Sends heartbeats, and kills workers that do not respond. Missed heartbeats are counted, not measured by a clock:
   * while the machine sleeps or the container is paused, nothing is counted either, so no worker is blamed afterwards.
   */
  #poll (): void {
    for (const slot of this.#slots) {
      const { worker } = slot
      if (worker === undefined) continue
      send(worker, { kind: 'poll' })
      if (++slot.missedHeartbeats !== MOST_MISSED + 1) continue
      this.#log.error({ worker: worker.process.pid }, 'a worker does not respond: it is killed')
      worker.process.kill('SIGKILL')
    }
  }
}

/** Resolves when a worker no longer listens. */
async function closesPort (worker: Worker): Promise<void> {
  await new Promise<void>(resolve => {
    worker.on('message', ({ kind }: FromWorker) => { if (kind === 'portClosed') resolve() })
    worker.on('exit', () => resolve())
  })
}

/** Waits until a worker exits. One that is not ready has no requests. */
async function exitsCleanly ({ worker, readyAt }: Slot): Promise<boolean> {
  if (worker === undefined) return true
  const [code] = await once(worker, 'exit')
  return code === 0 || readyAt === undefined
}

function send (worker: Worker, message: ToWorker): void {
  // A worker that is disconnected is about to exit, which is handled by itself.
  if (worker.isConnected()) worker.send(message, () => {})
}

async function freePort (host: string): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
