import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { Program, token } from '../support/process/program.js'
import { OwnDatabase } from '../support/stores/own-database.js'

/** The resources of the process at one time. */
interface Sample { seconds: number, megabytes: number, descriptors: number, creates: number }

export interface SoakReport {
  fullLoad: number
  samples: Sample[]
  /** MiB an hour over the second half, as the caches of the database and of V8 fill during the first. */
  slope: number
  /** The standard error of the slope; a slope within two of them is noise. */
  slopeError: number
  descriptors: { least: number, most: number }
  statuses: Record<string, number>
}

/**
 * Runs the service at half of its highest load, and records its memory and its file descriptors.
 * @param seconds the duration, after the full load was measured for up to 5 s
 */
export async function soak ({ seconds, connections = 32, env = {}, log = () => {} }: {
  seconds: number, connections?: number, env?: Record<string, string>, log?: (line: string) => void
}): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-soak-'))
  const service = new Program([], { PORT: '0', ACCESS_TOKENS: token, DATA_DIR: folder, ...env })
  try {
    const clients = new PlantClients(overHttp(await service.ready(), token))
    const counts: Record<string, number> = {}
    let creates = 0
    const count = () => {
      for (const [outcome, number] of Object.entries(clients.counts)) counts[outcome] = (counts[outcome] ?? 0) + number
      creates += clients.sent.splice(0).length
    }
    const measured = Math.min(5, seconds / 4)
    await clients.load({ connections, ms: measured * 1_000 })
    count()
    const fullLoad = creates / measured
    log(`full load: ${fullLoad.toFixed()} create requests per second`)

    const samples: Sample[] = []
    const began = performance.now()
    const elapsed = () => (performance.now() - began) / 1_000
    const sampling = setInterval(() => {
      count()
      samples.push({
        seconds: elapsed(),
        megabytes: residentMegabytes(service.pid),
        descriptors: descriptors(service.pid),
        creates
      })
      if (samples.length % 10 === 0) log(JSON.stringify(samples.at(-1)))
    }, Math.max(200, seconds * 1_000 / 600))

    // Each client waits for its own next turn, so that together they are half of the full load.
    const pace = connections / (fullLoad / 2) * 1_000
    await Promise.all(Array.from({ length: connections }, async (_, client) => {
      for (let turn = client / connections; elapsed() < seconds; turn++) {
        const due = turn * pace - elapsed() * 1_000
        if (due > 1) await sleep(due)
        await clients.create()
      }
    }))
    clearInterval(sampling)
    count()
    const later = samples.slice(Math.floor(samples.length / 2))
    const open = later.map(sample => sample.descriptors)
    return {
      fullLoad,
      samples,
      ...slopeOf(later),
      descriptors: { least: Math.min(...open), most: Math.max(...open) },
      statuses: counts
    }
  } finally {
    await service.end('SIGTERM')
    rmSync(folder, { recursive: true })
  }
}

/** `RssAnon`, which excludes the mapped pages of the database file. */
function residentMegabytes (pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1_024
}

function descriptors (pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** Least squares. */
function slopeOf (samples: readonly Sample[]): { slope: number, slopeError: number } {
  const n = samples.length
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / n
  const hours = samples.map(({ seconds }) => seconds / 3_600)
  const x = mean(hours)
  const y = mean(samples.map(({ megabytes }) => megabytes))
  const spread = hours.reduce((sum, hour) => sum + (hour - x) ** 2, 0)
  const slope =
    samples.reduce((sum, { megabytes }, i) => sum + ((hours[i] as number) - x) * (megabytes - y), 0) / spread
  const rest = samples.reduce(
    (sum, { megabytes }, i) => sum + (megabytes - y - slope * ((hours[i] as number) - x)) ** 2,
    0
  )
  return { slope, slopeError: Math.sqrt(rest / (n - 2) / spread) }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, connections: { type: 'string', default: '32' } } })
  const { MONGODB_URL } = process.env
  const database = MONGODB_URL === undefined ? undefined : new OwnDatabase(MONGODB_URL)
  const report = await soak({
    seconds: Number(values.minutes) * 60,
    connections: Number(values.connections),
    env: database === undefined ? {} : { MONGODB_URL: database.url },
    log: console.log
  })
  await database?.drop()
  const { fullLoad, samples, slope, slopeError, descriptors, statuses } = report
  const { creates = 0, seconds = 1 } = samples.at(-1) ?? {}
  console.log({
    fullLoad: Math.round(fullLoad),
    halfLoad: Math.round((creates - (samples[0]?.creates ?? 0)) / seconds),
    megabytes: {
      first: samples[0]?.megabytes,
      half: samples[samples.length >> 1]?.megabytes,
      last: samples.at(-1)?.megabytes
    },
    'slope, MiB an hour': `${slope.toFixed(1)} ± ${slopeError.toFixed(1)}`,
    descriptors,
    statuses
  })
  process.exit()
}
