import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { logReadiness } from '../../src/service/health.js'
import { faultLimit } from '../../src/service/logging/fault-limit.js'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { create, startService, token } from '../support/process/program.js'
import { lockSqlite } from '../support/stores/sqlite-file.js'
import { VirtualClock } from '../support/virtual-clock.js'

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

t.test('of responses of 500 or more, at most 100 lines a second are written, then one says how many were not', async t => {
  const clock = new VirtualClock()
  const lines: { reqId?: string, msg: string, count?: number }[] = []
  const { logMethod, flush } = faultLimit(count => { log.warn({ count }, 'more') }, clock)
  const log = pino({ hooks: { logMethod } }, { write: (line: string) => { lines.push(JSON.parse(line)) } })
  const fail = (times: number) => { for (let turn = 0; turn < times; turn++) log.warn({ statusCode: 503, error: 50301 }, 'not stored') }
  fail(100)
  log.info({ statusCode: 200 }, 'request')
  fail(5)
  log.info('another line')
  t.strictSame(lines.splice(0).map(({ msg }) => msg), [...Array(100).fill('not stored'), 'request', 'another line'])
  await clock.pass(1_000)
  t.match(lines.splice(0), [{ msg: 'more', count: 5 }])
  fail(1)
  await clock.pass(1_000)
  t.match(lines.splice(0), [{ msg: 'not stored' }], 'nothing is said about a second in which all were written')
  t.equal(clock.timers, 0, 'the process is not kept alive')
  fail(102)
  flush()
  t.match(lines.at(-1), { msg: 'more', count: 2 }, 'nothing is lost at exit')
})

t.test('a storm of 503 responses is logged in a few lines without stacks, which count every response', async t => {
  const service = await startService(t, { QUEUE_LIMIT: '1', STORE_TIMEOUT: '1000' })
  const clients = new PlantClients(overHttp(service.address, token))
  await clients.load({ connections: 32, ms: 3_000 })
  const refused = clients.counts[503] ?? 0
  await service.end('SIGTERM')
  const lines = service.log.filter(({ statusCode }) => statusCode === 503)
  const omitted = service.log.filter(({ msg }) => /more responses of 500 or more/.test(String(msg)))
  t.ok(refused > 100, `${refused}`)
  t.ok(lines.length <= 500, `${lines.length} lines`)
  t.equal(omitted.reduce((sum, { count }) => sum + Number(count), lines.length), refused)
  t.notMatch(service.stdout, 'stack')
  t.match(lines[0], { level: 40, error: 50301, reqId: /^[\w-]{12}-\w+$/ })
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
  t.equal(line?.reqId, response.headers.get('x-request-id'))
})
