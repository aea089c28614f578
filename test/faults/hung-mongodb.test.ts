import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { mongoPlantStore } from '../../src/stores/mongo/mongo-plant-store.js'
import { buildService } from '../support/http/service.js'
import { create, startService } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'

const STORE_TIMEOUT = 2_000
const QUEUE_LIMIT = 40

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

t.test('120 concurrent create requests while MongoDB hangs: those beyond QUEUE_LIMIT are refused immediately, the rest time out', async t => {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ url: mongo.url, storeTimeout: STORE_TIMEOUT })
  const service = await buildService(t, store, { STORE_TIMEOUT, QUEUE_LIMIT })
  // Large enough for a leak to show.
  const name = 'x'.repeat(20_000)
  let last = 0
  let responses = 0
  const create = async () => {
    const began = performance.now()
    const id = ++last
    const { statusCode, headers, body } = await service.create({ id, name })
    const { error } = JSON.parse(body)
    return { id, code: statusCode === 200 ? 200 : Number(error), retryAfter: headers['retry-after'], took: performance.now() - began, turn: responses++ }
  }
  const burst = async () => await Promise.all(Array.from({ length: 120 }, create))
  const memory = async () => {
    await sleep(100)
    collectGarbage()
    await sleep(10)
    collectGarbage()
    const { heapUsed, arrayBuffers, external } = process.memoryUsage()
    return (heapUsed + arrayBuffers + external) / 2 ** 20
  }

  await create()
  await burst()
  await burst()
  const before = await memory()

  for (let round = 1; round <= 2; round++) {
    mongo.hang()
    const answers = await burst()
    const excess = answers.filter(({ code }) => code === 50301)
    const rest = answers.filter(({ code }) => code !== 50301)
    t.equal(excess.length, 80, 'those beyond QUEUE_LIMIT are refused')
    t.ok(excess.every(({ retryAfter }) => retryAfter === '1'), 'with Retry-After')
    t.ok(Math.max(...excess.map(({ turn }) => turn)) < Math.min(...rest.map(({ turn }) => turn)), 'before any other gets a response')
    const slowest = Math.max(...excess.map(({ took }) => took))
    t.ok(slowest < STORE_TIMEOUT / 2, `within ${slowest.toFixed(1)} ms`)
    t.ok(rest.every(({ code }) => code === 50401), 'the others get 50401')
    const longest = Math.max(...rest.map(({ took }) => took))
    t.ok(longest >= STORE_TIMEOUT - 100 && longest < STORE_TIMEOUT + 2_000, `within ${longest.toFixed()} ms`)

    mongo.resume({ forget: true })
    while (await service.health.fault() !== undefined) await sleep(20)
    t.strictSame((await create()).code, 200, 'MongoDB is back, and so is the service')
    t.ok(excess.every(({ id }) => !mongo.plants().has(BigInt(id))), 'no refused plant is stored')
  }

  const after = await memory()
  t.ok(after - before < 3, `memory went from ${before.toFixed(1)} to ${after.toFixed(1)} MiB`)
})

t.test('a shutdown with a pending request is forced after 25 s, even if STORE_TIMEOUT is longer', async t => {
  const mongo = await ScriptedMongo.start(t)
  const service = await startService(t, { MONGODB_URL: mongo.url, DATA_DIR: undefined, STORE_TIMEOUT: '120000' })
  t.equal((await create(service.address)).status, 200)
  mongo.hang()
  const pending = create(service.address).then(({ status }) => status, () => 'cut')
  await sleep(1_000)
  const began = performance.now()
  t.match(await service.end('SIGTERM'), { code: 1 })
  const seconds = (performance.now() - began) / 1_000
  t.ok(seconds >= 24.5 && seconds < 35, `after ${seconds.toFixed(1)} s`)
  t.match(await service.logged('forced exit after'), { level: 50, msg: 'forced exit after 25000 ms with requests pending' })
  t.equal(await pending, 'cut')
})
