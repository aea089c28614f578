import { contender, namedService } from './contenders.js'
import type { Contender } from './contenders.js'
import type { LoadJob, LoadResult } from './load-job.js'
import type { Bench } from './measure.js'
import { peakMemory, processorSeconds } from './process-cost.js'
import { apart } from './processors.js'
import { prove } from './prove.js'
import { countRows, runServer } from './run-server.js'
import type { RunningServer } from './run-server.js'
import type { Round, Spec } from './spec.js'
import { specKey } from './spec.js'

/** Seconds before each later round of a spec, thrown away: connections open, and caches fill. */
const LEAD_IN = 1

/** The servers of a run. Each is started for its first round and stays until the last, as warm as a service is. */
export class Subjects {
  readonly #bench: Bench
  readonly #started = new Map<string, Subject>()

  constructor (bench: Bench) {
    this.#bench = bench
  }

  /** The server for a spec; specs that differ in the load alone share it. */
  async of (spec: Spec): Promise<Subject> {
    const { server, order, plants, distance, mongodb } = spec
    const key = JSON.stringify([server, order, plants, distance, mongodb])
    let subject = this.#started.get(key)
    if (subject === undefined) {
      subject = await Subject.start(spec, this.#bench)
      this.#started.set(key, subject)
    }
    return subject
  }

  /** @throws where one holds fewer plants than it acknowledged */
  async check (): Promise<void> {
    for (const subject of this.#started.values()) await subject.check()
  }

  async stop (): Promise<void> {
    await Promise.all([...this.#started.values()].map(async (subject) => { await subject.stop() }))
  }
}

/** One server under measurement, and how many plants it owes. */
export class Subject {
  readonly #contender: Contender
  readonly #server: RunningServer | undefined
  readonly #bench: Bench
  readonly #warm = new Set<string>()
  #owed: number

  private constructor (contender: Contender, server: RunningServer | undefined, bench: Bench, owed: number) {
    this.#contender = contender
    this.#server = server
    this.#bench = bench
    this.#owed = owed
  }

  /** Starts it, and shows that it is right. */
  static async start (place: Spec, bench: Bench): Promise<Subject> {
    const { token, folder, environment, url, pin } = bench
    if (url !== undefined) {
      const service = namedService(url)
      return new Subject(service, undefined, bench, await prove(service, url, token))
    }
    const chosen = contender(place.server)
    const databaseFile = bench.databaseFiles.get(place.plants ?? 0)
    const before = databaseFile === undefined ? 0 : countRows(databaseFile)
    const server = await runServer(chosen, {
      token,
      folder,
      databaseFile,
      mongodb: place.mongodb === 'given' ? bench.mongodb : undefined,
      distance: place.distance,
      environment,
      pin: pin?.servers
    })
    try {
      return new Subject(chosen, server, bench, before + await prove(chosen, server.url, token))
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  /** One round of load. */
  async round (spec: Spec, rate: number | undefined): Promise<Round> {
    const pid = this.#server?.pid
    const job = this.#job(spec, rate)
    let openedAt: number | undefined
    let used: number | undefined
    let memory: number | undefined
    const { load, pin } = this.#bench
    const run = async (): Promise<LoadResult> => await load.run(job, {
      opened () { openedAt = pid === undefined ? undefined : processorSeconds(pid) },
      closed () {
        const now = pid === undefined ? undefined : processorSeconds(pid)
        if (now !== undefined && openedAt !== undefined) used = now - openedAt
        memory = pid === undefined ? undefined : peakMemory(pid)
      }
    })
    // What the generator took from the server would count as the server's latency.
    const result = spec.kind === 'open' && pin === undefined ? await apart(load.pid, pid, run) : await run()
    const { answers, seconds, latency, generatorBusy, unanswered, lateness, acknowledged } = result
    this.#warm.add(specKey(spec))
    if (storesAll(spec)) this.#owed += acknowledged
    const distance = this.#server?.measuredDistance
    return {
      perSecond: answers / seconds,
      latency,
      generatorBusy,
      unanswered,
      ...(used === undefined ? {} : { processorMicros: used * 1e6 / answers }),
      ...(memory === undefined ? {} : { peakMemory: memory }),
      ...(lateness === undefined ? {} : { lateness }),
      ...(rate === undefined ? {} : { rate }),
      ...(distance === undefined ? {} : { measuredDistance: distance })
    }
  }

  /** @throws where it holds fewer plants than it acknowledged; it has then stopped */
  async check (): Promise<void> {
    const stored = await this.#server?.stopAndCount()
    if (stored !== undefined && stored < this.#owed) {
      throw new Error(`${this.#contender.label} acknowledged ${this.#owed} plants and holds ${stored}`)
    }
  }

  async stop (): Promise<void> {
    await this.#server?.stop()
  }

  #job (spec: Spec, rate: number | undefined): LoadJob {
    const { cannot, isOurs } = this.#contender
    const { token, warmUp, duration, generator, url } = this.#bench
    return {
      target: { url: this.#server?.url ?? url as string, token, takesSameAgain: cannot.same === undefined, hasErrorCodes: isOurs },
      caseName: spec.caseName,
      order: spec.order,
      connections: spec.connections,
      warmUp: this.#warm.has(specKey(spec)) ? Math.min(LEAD_IN, warmUp) : warmUp,
      duration,
      generator,
      ...(rate === undefined ? {} : { rate })
    }
  }
}

/** Cases in which every 200 is a plant of its own. */
function storesAll (spec: Spec): boolean {
  return spec.caseName !== 'same' && spec.caseName !== 'mix'
}
