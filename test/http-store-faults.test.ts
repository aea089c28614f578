import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { PlantNotStored, PlantPerhapsStored, type CreateOutcome, type PlantStore } from '../src/stores/plant-store.js'
import { answersError, answersPlant, buildService, TOKEN } from './service.js'

const PLANT = { id: 1, name: 'a name that no log may hold', tag: 'a tag that no log may hold' }

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

/** A store whose creates wait until the test settles them. */
function waitingStore () {
  const waiting: { resolve: (outcome: CreateOutcome) => void, reject: (reason: unknown) => void }[] = []
  const store: PlantStore = { create: () => new Promise((resolve, reject) => { waiting.push({ resolve, reject }) }) }
  return { store, waiting }
}

function checkLog (t: Test, log: string[], level: number, statusCode: number, message: string): void {
  t.equal(log.length, 1)
  const line = JSON.parse(log[0] as string)
  t.match(line, { level, statusCode, reqId: String, err: { message } })
  t.notMatch(log[0], /no log may hold/)
  t.notOk(log.join().includes(TOKEN))
}

t.test('whatever else a store throws is 500, 50001, without inner detail; the log has it', async t => {
  const faults: Record<string, PlantStore['create']> = {
    'a rejection': async () => { throw new TypeError('secret detail') },
    'a throw': () => { throw new TypeError('secret detail') },
    'an error with a status': async () => { throw Object.assign(new Error('secret detail'), { statusCode: 200, code: 'FST_ERR_BAD_URL' }) },
    'an error with validation': async () => { throw Object.assign(new Error('secret detail'), { validation: [{ instancePath: '/id' }] }) }
  }
  for (const [name, create] of Object.entries(faults)) {
    await t.test(name, async t => {
      const service = await buildService(t, { create })
      const response = await service.create(PLANT, { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` })
      answersError(t, response, 50001, /^The service failed\. Whether the plant is stored is not known: to send the same plant again is safe$/)
      t.notMatch(response.body, /secret/)
      t.notOk('retry-after' in response.headers)
      checkLog(t, service.log, 50, 500, 'secret detail')
      t.equal(JSON.parse(service.log[0] as string).traceId, TRACE)
    })
  }
})

t.test('a store that throws no error is 500 too', async t => {
  for (const thrown of [undefined, null, 'secret detail', 42]) {
    const { create } = await buildService(t, { create: async () => { throw thrown } })
    const response = await create(PLANT)
    answersError(t, response, 50001, /^The service failed/, String(thrown))
    t.notMatch(response.body, /secret/)
  }
})

t.test('PlantNotStored is 503, 50301, with Retry-After', async t => {
  const { create, log } = await buildService(t, { create: async () => { throw new PlantNotStored('secret detail') } })
  const response = await create(PLANT)
  answersError(t, response, 50301, /^The plant is not stored: send it again later$/)
  t.match(response.headers['retry-after'], /^[1-9]\d*$/)
  checkLog(t, log, 40, 503, 'secret detail')
})

t.test('PlantPerhapsStored is 504, 50401', async t => {
  const { create, log } = await buildService(t, { create: async () => { throw new PlantPerhapsStored('secret detail') } })
  const response = await create(PLANT)
  answersError(t, response, 50401, /^Whether the plant is stored is not known yet: send the same plant again, which is always safe$/)
  t.notOk('retry-after' in response.headers)
  checkLog(t, log, 40, 504, 'secret detail')
})

t.test('a store that does not answer in STORE_TIMEOUT is 504, 50401, and what it says later is not heard', async t => {
  const { store, waiting } = waitingStore()
  const { create, log } = await buildService(t, store, { STORE_TIMEOUT: 60 })
  const start = performance.now()
  const responses = await Promise.all([create(PLANT), create(PLANT), create(PLANT)])
  const elapsed = performance.now() - start
  t.ok(elapsed > 55 && elapsed < 1_000, `${elapsed} ms`)
  for (const response of responses) answersError(t, response, 50401, /^Whether the plant is stored is not known yet/)
  t.equal(log.length, 3)
  t.match(JSON.parse(log[0] as string), { err: { message: /no word from the store/ } })

  waiting[0]?.resolve('stored')
  waiting[1]?.resolve('taken')
  waiting[2]?.reject(new Error('too late'))
  await sleep(5)
  t.equal(log.length, 3)
})

t.test('what a store says too late takes no other create its deadline', async t => {
  const { store, waiting } = waitingStore()
  const { create } = await buildService(t, store, { STORE_TIMEOUT: 300 })
  const first = create(PLANT)
  await sleep(200)
  const second = create(PLANT)
  t.equal((await first).statusCode, 504)
  waiting[1]?.resolve('stored')
  t.equal((await second).statusCode, 200)
  const third = create(PLANT)
  await sleep(5)
  waiting[0]?.resolve('stored')
  t.equal((await third).statusCode, 504)
})

t.test('a trace id that is none is not logged', async t => {
  const { create, log } = await buildService(t, { create: async () => { throw new PlantNotStored('away') } })
  const valid = TRACE.replace(/^4/, '0')
  for (const traceparent of [
    `x00-${TRACE}-00f067aa0ba902b7-01`, `ff-${TRACE}-00f067aa0ba902b7-01`, `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-00f067aa0ba902b7-01x`, TRACE, `00-${valid}-00f067aa0ba902b7-01`
  ]) await create(PLANT, { traceparent })
  t.strictSame(log.map(line => JSON.parse(line).traceId), [...Array(6), valid])
})

t.test('each create has the deadline of its own', async t => {
  const { store, waiting } = waitingStore()
  const deadlines: number[] = []
  const { create } = await buildService(t, { create: (plant, deadline) => { deadlines.push(deadline); return store.create(plant, deadline) } }, { STORE_TIMEOUT: 120 })
  const start = performance.now()
  const first = create(PLANT)
  await sleep(60)
  const second = create(PLANT)
  const third = create(PLANT)
  await sleep(20)
  waiting[2]?.resolve('stored')
  answersPlant(t, await third, { name: PLANT.name, tag: PLANT.tag })
  t.equal((await first).statusCode, 504)
  t.ok(performance.now() - start < 175, 'the first is told at its own deadline')
  t.equal((await second).statusCode, 504)
  t.ok(performance.now() - start > 175)
  for (const [place, deadline] of deadlines.entries()) t.ok(Math.abs(deadline - start - (place === 0 ? 120 : 180)) < 60, `deadline ${deadline - start}`)
})

t.test('one create more than QUEUE_LIMIT is 503, 50301, with Retry-After, until there is room again', async t => {
  const { store, waiting } = waitingStore()
  const { create, log } = await buildService(t, store, { QUEUE_LIMIT: 2 })
  const first = create(PLANT)
  const second = create(PLANT)
  const refused = await create(PLANT)
  answersError(t, refused, 50301, /^Too many creates wait for the store; the plant is not stored: send it again later$/)
  t.match(refused.headers['retry-after'], /^[1-9]\d*$/)
  t.equal(waiting.length, 2, 'the store did not hear of it')
  t.equal(log.length, 1)

  waiting[0]?.resolve('stored')
  t.equal((await first).statusCode, 200)
  const third = create(PLANT)
  await sleep(5)
  waiting[1]?.resolve('taken')
  waiting[2]?.resolve('same')
  answersError(t, await second, 40004, /^Another plant has this id/)
  t.equal((await third).statusCode, 200)
})

t.test('a create keeps its place until the store lets go of it, also after its answer', async t => {
  const { store, waiting } = waitingStore()
  const { create } = await buildService(t, store, { QUEUE_LIMIT: 1, STORE_TIMEOUT: 30 })
  answersError(t, await create(PLANT), 50401, /^Whether/)
  answersError(t, await create(PLANT), 50301, /^Too many creates wait/)
  waiting[0]?.reject(new PlantNotStored('gave up'))
  await sleep(5)
  const again = create(PLANT)
  await sleep(5)
  waiting[1]?.resolve('stored')
  t.equal((await again).statusCode, 200)
})

t.test('ACCESS_LOG writes one line a request, without body, token or query', async t => {
  const { create, app, log } = await buildService(t, { create: async () => 'stored' }, { ACCESS_LOG: true })
  await create(PLANT)
  await app.inject({ url: '/nowhere?access_token=hidden' })
  t.equal(log.length, 2)
  t.match(log.map(line => JSON.parse(line)), [
    { level: 30, method: 'POST', url: '/plants', statusCode: 200, reqId: String, responseTime: Number, remoteAddress: '127.0.0.1', msg: 'request' },
    { level: 30, method: 'GET', url: '/nowhere', statusCode: 404 }
  ])
  t.notMatch(log.join(), /no log may hold|hidden/)
  t.notOk(log.join().includes(TOKEN))
})
