import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import type { Configuration, Credentials } from './configuration.js'
import { lastInQueue } from './last-in-queue.js'
import type { MetricsData } from './metrics.js'
import type { Running } from './running.js'
import { WorkerUnusable } from './start-fault.js'
import { WorkersMetrics } from './workers-metrics.js'
import type { FromWorker, Point, ToWorker } from './worker-messages.js'

/** A worker that dies is replaced after 100 ms, 200, 400, … 10,000; from the start again once one has lived for 10 s. */
const FIRST_BACKOFF = 100
const LONGEST_BACKOFF = 10_000
const LONG_LIFE = 10_000

/**
 * Runs the service in WORKERS processes that share the port. This process reads the configuration and the files, and
 * hands them to the workers: all have the same, also one that is started later.
 * @throws {WorkerUnusable} where one cannot start; then none is left
 */
export async function startWorkers (configuration: Configuration, log: FastifyBaseLogger): Promise<Running> {
  const { HOST, PORT } = configuration
  // Chosen once, so that a worker that is started later has the same.
  const workers = new Workers({ ...configuration, PORT: PORT === 0 ? await freePort(HOST) : PORT }, log)
  await workers.start()
  return workers
}

class Workers implements Running {
  address = ''
  readonly #log: FastifyBaseLogger
  readonly #workers = new Set<Worker>()
  readonly #reached = new Map<Point, Set<Worker>>()
  readonly #metrics = new WorkersMetrics()
  #configuration: Configuration
  #backoff = FIRST_BACKOFF
  #ending = false
  #uncleanEnds = 0

  constructor (configuration: Configuration, log: FastifyBaseLogger) {
    this.#configuration = configuration
    this.#log = log
    // Structured clones: JSON has no NaN, which a metric may be.
    cluster.setupPrimary({ args: [], serialization: 'advanced' })
  }

  async start (): Promise<void> {
    const started = Array.from({ length: this.#configuration.WORKERS }, () => this.#fork())
    try {
      this.address = (await Promise.all(started))[0] as string
    } catch (error) {
      this.#ending = true
      this.kill()
      throw error
    }
  }

  reload (credentials: Credentials): void {
    this.#configuration = { ...this.#configuration, ...credentials }
    this.#tellAll({ kind: 'reload', credentials })
  }

  async end (): Promise<void> {
    this.#ending = true
    this.#tellAll({ kind: 'end' })
    await Promise.all([...this.#workers].map(worker => once(worker, 'exit')))
    if (this.#uncleanEnds > 0) throw new Error(`${this.#uncleanEnds} workers did not end as they should`)
  }

  kill (): void {
    for (const worker of this.#workers) worker.process.kill('SIGKILL')
  }

  async metrics (): Promise<MetricsData[]> {
    return this.#metrics.collect(this.#workers)
  }

  /**
   * Starts a worker; resolves with its address. Once it is ready, another takes its place when it ends.
   * @throws {Error} where no process can be made, or where it ends before it is ready
   */
  async #fork (): Promise<string> {
    const worker = cluster.fork()
    const started = performance.now()
    this.#workers.add(worker)
    let isReady = false

    return new Promise((resolve, reject) => {
      const end = (reason: string): void => {
        this.#workers.delete(worker)
        this.#metrics.ended(worker)
        reject(new WorkerUnusable(`a worker ended (${reason}) before it was ready`))
        if (isReady && !this.#ending) this.#replace('a worker ended', { worker: worker.process.pid, reason }, performance.now() - started)
      }
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'here') {
          tell(worker, { kind: 'start', configuration: this.#configuration })
        } else if (message.kind === 'ready') {
          isReady = true
          resolve(message.address)
        } else if (message.kind === 'unusable') {
          reject(new WorkerUnusable(message.message))
        } else if (message.kind === 'reached') {
          this.#reach(worker, message.point)
        } else {
          this.#metrics.answered(worker, message)
        }
      })
      worker.on('error', error => {
        reject(error)
        // One whose process could not be made (EAGAIN) has no exit.
        if (worker.process.pid === undefined) end(error.message)
      })
      worker.on('exit', (code, signal) => {
        if (this.#ending && code !== 0) this.#uncleanEnds++
        end(signal ?? `code ${code}`)
      })
    })
  }

  #replace (event: string, details: object, lived = 0): void {
    if (lived > LONG_LIFE) this.#backoff = FIRST_BACKOFF
    const delay = this.#backoff
    this.#backoff = Math.min(this.#backoff * 2, LONGEST_BACKOFF)
    this.#log.error(details, `${event}; another starts in ${delay} ms`)
    setTimeout(() => {
      if (this.#ending) return
      this.#metrics.restarts++
      this.#fork().then(
        () => { this.#log.info('a worker was replaced') },
        (error: Error) => { if (!this.#ending) this.#replace('the new worker did not start', { reason: error.message }) })
    }, delay)
  }

  async #reach (worker: Worker, point: Point): Promise<void> {
    const there = this.#reached.get(point) ?? new Set()
    this.#reached.set(point, there.add(worker))
    if (![...this.#workers].every(worker => there.has(worker))) return
    // The workers don't see the connections that this process has for them.
    if (point === 'quiet') await lastInQueue(this.address)
    this.#tellAll({ kind: 'go', point })
  }

  #tellAll (message: ToWorker): void {
    for (const worker of this.#workers) tell(worker, message)
  }
}

function tell (worker: Worker, message: ToWorker): void {
  // One that is about to end hears nothing any more; its exit is told by itself.
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
