import { mkdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Program } from '../support/process/program.js'
import { openSqlite } from '../support/stores/sqlite-file.js'
import {
  creator, databaseSize, heading, launch, memoryOf, quantiles, row, shown, spreadId, startService, temporaryFolder
} from './long-run.js'

// Makes a database of many plants, by default 50 million, and shows how long each thing takes that an operator does
// with it. Needs about 200 bytes of disk for each plant. Exits with 1 if something fails, or if plants are missing.
const { values } = parseArgs({
  options: {
    plants: { type: 'string', default: '50000000' },
    folder: { type: 'string', default: tmpdir() }
  }
})
const size = Number(values.plants)
const inTurn = 1_000
const atOnce = 20_000

const folder = temporaryFolder(values.folder)
const dataDir = join(folder, 'data')
const path = join(dataDir, 'plants.db')

interface Started { service: Program, address: string }
/** What a command wrote, and the most memory that it was seen to have, in MB. */
interface Ended { stdout: string, memory: number }

/** Runs something, and shows how long it took, and what the note says of its result. */
async function timed<T> (
  what: string, run: () => Promise<T> | T, note: (result: T, seconds: number) => string = () => ''
): Promise<T> {
  const startedAt = performance.now()
  const result = await run()
  const seconds = (performance.now() - startedAt) / 1_000
  console.log(row(what, shown(seconds, 3), note(result, seconds)))
  return result
}

/** Writes plants whose ids are spread evenly over all of int64. */
function fill (): void {
  const database = openSqlite(path)
  database.exec('PRAGMA synchronous = OFF')
  const half = Math.floor(size / 2)
  const gap = 2n ** 64n / BigInt(size + 1)
  const page = 1_000_000
  for (let first = 0; first < size; first += page) {
    const count = Math.min(page, size - first)
    database.exec(`
      WITH RECURSIVE numbers(i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM numbers LIMIT ${count}),
        ids(id) AS (SELECT (i - ${half}) * ${gap} FROM numbers)
      INSERT INTO plants SELECT id, 'plant ' || id, iif(id % 2, 'odd', NULL) FROM ids`)
  }
  database.close()
}

/** Runs a command to its end. */
async function command (args: string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const program = launch(args, env)
  let memory = 0
  const timer = setInterval(() => { memory = Math.max(memory, memoryOf(program.pid) || 0) }, 250)
  const { code, stdout, stderr } = await program.ended
  clearInterval(timer)
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${stderr}`)
  return { stdout, memory }
}

async function stop (service: Program): Promise<void> {
  const { code, stderr } = await service.end('SIGTERM')
  if (code !== 0) throw new Error(`the service ended with ${code}: ${stderr}`)
}

const statuses = new Map<number, number>()

/** Creates plants, so many at a time; returns the milliseconds of each. */
async function createPlants (address: string, first: number, count: number, width: number): Promise<number[]> {
  const create = creator(address)
  const took: number[] = []
  let next = first
  await Promise.all(Array.from({ length: width }, async () => {
    while (next < first + count) {
      const startedAt = performance.now()
      const status = await create(spreadId(next++))
      took.push(performance.now() - startedAt)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }))
  return took
}

function latency (took: readonly number[]): string {
  const [median = NaN, p99 = NaN, slowest = NaN] = quantiles(took, 0.5, 0.99, 1)
  return `p50 ${shown(median, 2)} ms, p99 ${shown(p99, 2)} ms, slowest ${shown(slowest, 1)} ms`
}

async function readiness (address: string): Promise<number[]> {
  const took: number[] = []
  for (let count = 0; count < 100; count++) {
    const startedAt = performance.now()
    const response = await fetch(`${address}/health/ready`)
    await response.text()
    if (response.status !== 200) throw new Error(`not ready: ${response.status}`)
    took.push(performance.now() - startedAt)
  }
  return took
}

function countIn (file: string): number {
  const database = openSqlite(file)
  const { count } = database.prepare('SELECT count(*) AS count FROM plants').get()
  database.close()
  return count
}

const memoryAtStart = ({ service }: Started) => `memory ${shown(memoryOf(service.pid))} MB`
const megabytesOf = (file: string) => `${shown(statSync(file).size / 1e6)} MB`
const perSecond = (count: number, seconds: number) => `${shown(count / seconds)} plants per second`

mkdirSync(dataDir)
console.log(heading('what', 'seconds', 'details'))
const empty = await timed('start, no plants', () => startService(dataDir), memoryAtStart)
await stop(empty.service)
await timed(`write ${shown(size)} plants by SQL`, fill, () => `database ${shown(databaseSize(dataDir))} MB`)

const { service, address } = await timed('start', () => startService(dataDir), memoryAtStart)
await timed('readiness, 100 times', () => readiness(address), latency)
await timed(`${shown(inTurn)} creates in turn`, () => createPlants(address, 1, inTurn, 1), latency)
const createAtOnce = () => createPlants(address, 1 + inTurn, atOnce, 64)
await timed(`${shown(atOnce)} creates, 64 at once`, createAtOnce, (took, seconds) => {
  return `${perSecond(atOnce, seconds)}, ${latency(took)}, memory ${shown(memoryOf(service.pid))} MB`
})
const expected = size + inTurn + atOnce

const file = join(folder, 'plants.ndjson')
const exportAll = () => command(['export', '--quiet', file], { DATA_DIR: dataDir })
await timed('export, beside the service', exportAll, ({ memory }: Ended, seconds) => {
  return `${perSecond(expected, seconds)}, file ${megabytesOf(file)}, memory ${shown(memory)} MB`
})
const copy = join(folder, 'backup.db')
const backUp = () => command(['backup', copy], { DATA_DIR: dataDir })
await timed('backup, beside the service', backUp, () => `file ${megabytesOf(copy)}`)
await timed('readiness, 100 times', () => readiness(address), latency)
await timed('stop', () => stop(service))
const inDatabase = countIn(path)
const inBackup = countIn(copy)
for (const taken of [copy, dataDir]) rmSync(taken, { recursive: true })

const second = join(folder, 'second')
const importAll = () => command(['import', '--quiet', file], { DATA_DIR: second })
const { stdout } = await timed('import into an empty database', importAll, ({ memory }: Ended, seconds) => {
  return `${perSecond(expected, seconds)}, memory ${shown(memory)} MB`
})
const again = await timed('start', () => startService(second), memoryAtStart)
await stop(again.service)
const imported = countIn(join(second, 'plants.db'))

const acknowledged = statuses.get(200) ?? 0
const counts = { acknowledged, inDatabase, inBackup, imported }
console.log(`\n${stdout.trim()}`)
console.log(counts)
const isRight = [size + acknowledged, inDatabase, inBackup, imported].every(count => count === expected)
if (!isRight) console.log(`wrong: expected ${expected} plants; statuses: ${JSON.stringify([...statuses])}`)
process.exit(isRight ? 0 : 1)
