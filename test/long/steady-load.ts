import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openSqlite } from '../support/stores/sqlite-file.js'
import {
  creator, databaseSize, descriptorsOf, heading, memoryOf, quantiles, row, shown, spreadId, startService,
  temporaryFolder
} from './long-run.js'

// Creates plants at a steady rate, on SQLite, and shows by the minute how the service fares. A request is sent when it
// is due, whether or not earlier ones have been answered. Exits with 1 if a request failed, or if the plants that are
// stored are not those that were acknowledged.
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '2000' },
    /** Seconds that a row of the table stands for. */
    interval: { type: 'string', default: '60' },
    folder: { type: 'string', default: tmpdir() }
  }
})
const rate = Number(values.rate) / 1_000
const interval = Number(values.interval) * 1_000
const total = Math.round(Number(values.minutes) * 60_000 * rate)

const dataDir = temporaryFolder(values.folder)
const { service, address } = await startService(dataDir)
const create = creator(address)

const requests = { sent: 0, acknowledged: 0, failed: 0 }
/** How often a request failed with a status; 0 if it got no response. */
const failures = new Map<number, number>()
/** Milliseconds of the requests since the last report. */
let latencies: number[] = []

/** Measures from when the request was due: a client that is late counts, too. Its timer takes 1 or 2 ms. */
async function send (number: number, dueAt: number): Promise<void> {
  const status = await create(spreadId(number))
  latencies.push(performance.now() - dueAt)
  if (status === 200) {
    requests.acknowledged++
  } else {
    requests.failed++
    failures.set(status, (failures.get(status) ?? 0) + 1)
  }
}

function report (minutes: number): void {
  const [median = NaN, p99 = NaN, slowest = NaN] = quantiles(latencies, 0.5, 0.99, 1)
  const log = service.stdout.length + service.stderr.length
  console.log(row(
    shown(minutes, 2), shown(latencies.length), shown(median, 1), shown(p99, 1), shown(slowest, 1),
    shown(memoryOf(service.pid)), shown(descriptorsOf(service.pid)), shown(log), shown(databaseSize(dataDir)),
    shown(requests.failed)
  ))
  latencies = []
}

console.log(heading(
  'minute', 'responses', 'p50 ms', 'p99 ms', 'slowest ms', 'memory MB', 'descriptors', 'log bytes', 'database MB',
  'failed'
))

const startedAt = performance.now()
let reportAt = startedAt + interval
const isRunning = () => service.child.exitCode === null && service.child.signalCode === null
const pending = () => requests.sent - requests.acknowledged - requests.failed
// With so many pending, the machine is too slow for the rate.
while (requests.sent < total && pending() < 200_000 && isRunning()) {
  const now = performance.now()
  const due = Math.min(Math.floor((now - startedAt) * rate), total)
  while (requests.sent < due) {
    const number = requests.sent++
    send(number, startedAt + number / rate)
  }
  if (now >= reportAt) {
    report((reportAt - startedAt) / 60_000)
    reportAt += interval
  }
  await sleep(1)
}
while (pending() > 0) await sleep(10)
if (latencies.length > 0) report((performance.now() - startedAt) / 60_000)

const { code, stderr } = await service.end('SIGTERM')
const database = openSqlite(join(dataDir, 'plants.db'))
const select = database.prepare("SELECT count(*) AS stored, sum(name = 'plant ' || id) AS exact FROM plants")
const { stored, exact } = select.get()
database.close()
console.log(`
acknowledged ${shown(requests.acknowledged)}, stored ${shown(stored)}, of which ${shown(exact)} are exact`)
for (const [status, count] of failures) console.log(`failed with status ${status}: ${shown(count)}`)
if (stderr !== '') console.log(stderr)
const isRight = [requests.acknowledged, stored, exact].every(count => count === total) && code === 0
if (!isRight) console.log(`wrong: ${shown(total)} plants were to be created, and the service ended with ${code}`)
process.exit(isRight ? 0 : 1)
