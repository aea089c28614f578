import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { faultSummary, logReadiness } from '../../../src/service/logging/conditions.js'
import { overHttp, PlantClients } from '../../support/http/plant-clients.js'
import { create, startService, token } from '../../support/process/program.js'
import { lockSqlite } from '../../support/stores/sqlite-file.js'
import { VirtualClock } from '../../support/virtual-clock.js'

t.test('the loss and the return of readiness are each logged once', async t => {
  const clock = new VirtualClock()
  const lines: string[] = []
  const answers = [undefined, 'the store is down', 'the store is down', undefined, undefined]
  const log = pino({}, { write: (line: string) => { lines.push(JSON.parse(line).msg) } })
  t.teardown(logReadiness(async () => answers.shift(), log, clock))
  await clock.pass(10_000)
  t.strictSame(answers, [])
  t.strictSame(lines, ['not ready: the store is down', 'ready again'])
})

function summary () {
  const clock = new VirtualClock()
  const faults = faultSummary(clock)
  const lines: string[] = []
  const ids: string[] = []
  let requests = 0
  const report = (kind: string): void => {
    const id = `request-${++requests}`
    faults.report(kind, id, () => lines.push(kind), repeated => {
      lines.push(`${kind}: ${repeated.count} more`)
      ids.push(...repeated.ids)
    })
  }
  return { clock, faults, lines, ids, report }
}

t.test('the first fault of a kind is logged immediately, later ones as a count each second', async t => {
  const { clock, lines, report } = summary()
  for (let turn = 0; turn < 100; turn++) report('a')
  report('b')
  t.strictSame(lines, ['a', 'b'])
  await clock.pass(1_000)
  t.strictSame(lines.splice(0), ['a', 'b', 'a: 99 more'])
  for (let turn = 0; turn < 50; turn++) report('a')
  t.strictSame(lines, [])
  await clock.pass(1_000)
  t.strictSame(lines.splice(0), ['a: 50 more'])
  await clock.pass(1_000)
  report('a')
  t.strictSame(lines, ['a'], 'after a second without faults, the next one is a first one again')
  t.equal(clock.timers, 0, 'the process is not kept alive')
})

t.test('a summary lists the ids of its first 100 requests', async t => {
  const { clock, ids, report } = summary()
  for (let turn = 0; turn < 3; turn++) report('a')
  await clock.pass(1_000)
  t.strictSame(ids.splice(0), ['request-2', 'request-3'])
  for (let turn = 0; turn < 101; turn++) report('a')
  await clock.pass(1_000)
  t.equal(ids.length, 100)
  t.equal(ids.at(-1), 'request-103')
})

t.test('beyond 20 different messages, all others are summarized as one kind, and nothing is lost at exit', async t => {
  const { faults, lines, report } = summary()
  for (let turn = 0; turn < 1_000; turn++) report(`message ${turn}`)
  t.equal(lines.length, 21)
  faults.flush()
  t.equal(lines.length, 22)
  t.match(lines.at(-1), '979 more')
})

t.test('a storm of 503 responses is logged in a few lines without stacks, which count every response', async t => {
  const service = await startService(t, { QUEUE_LIMIT: '1', STORE_TIMEOUT: '1000' })
  const clients = new PlantClients(overHttp(service.address, token))
  await clients.load({ connections: 32, ms: 1_500 })
  const refused = clients.counts[503] ?? 0
  await service.end('SIGTERM')
  const lines = service.log.filter(({ statusCode }) => statusCode === 503)
  t.ok(refused > 100, `${refused}`)
  t.ok(lines.length < 20, `${lines.length} lines`)
  t.equal(lines.reduce((sum, { count }) => sum + Number(count ?? 1), 0), refused)
  t.notMatch(service.stdout, 'stack')
  t.match(lines[0], { level: 40, error: 50301, reqId: /./ })
  t.match(lines.find(({ count }) => count !== undefined), { reqIds: [/^[\w-]{12}-\w+$/] })
})

t.test('the line of a 503 has the type and the message of its error, and no stack', async t => {
  const service = await startService(t, { STORE_TIMEOUT: '1000' })
  await create(service.address)
  const lock = lockSqlite(join(service.folder, 'plants.db'))
  const response = await create(service.address)
  lock.close()
  t.match(await response.json(), { error: 50301, message: 'This request did not store the plant: retry later' }, 'an earlier request stored it')
  await service.end('SIGTERM')
  const line = service.log.find(({ statusCode }) => statusCode === 503)
  t.strictSame(line?.err, { type: 'PlantNotStored', message: 'SQLite: database is locked' })
})
