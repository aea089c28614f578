import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { channels, type CreateMessage } from '../../src/diagnostics.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type PlantStore } from '../../src/stores/plant-store.js'
import { answersError, answersPlant, buildService, TOKEN } from '../support/http/service.js'
import { onBothStores, type NewPlace } from '../support/stores/places.js'
import { until } from '../support/until.js'

await onBothStores(t, (t: Test, newPlace: NewPlace) => {
  t.test('a new plant gets 200 with a Plant, and is stored', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    answersPlant(t, await create({ id: 1, name: 'Monstera deliciosa', tag: 'aroid' }), { name: 'Monstera deliciosa', tag: 'aroid' })
    answersPlant(t, await create({ id: 2, name: 'Ficus' }), { name: 'Ficus' })
    answersPlant(t, await create({ id: 3, name: '', tag: '' }), { name: '', tag: '' }, 'empty strings are strings')
    t.strictSame(await place.stored(), new Map<bigint, object>([
      [1n, { name: 'Monstera deliciosa', tag: 'aroid' }], [2n, { name: 'Ficus' }], [3n, { name: '', tag: '' }]
    ]))

    t.comment('a retry of the same plant gets the same response, in any spelling')
    answersPlant(t, await create({ id: 1, name: 'Monstera deliciosa', tag: 'aroid' }), { name: 'Monstera deliciosa', tag: 'aroid' })
    answersPlant(t, await create('{"name":"Fi\\u0063us","id":2.0}'), { name: 'Ficus' })

    t.comment('another plant with a taken id is refused, and changes nothing')
    for (const other of [{ id: 1, name: 'Monstera deliciosa' }, { id: 1, name: 'Monstera', tag: 'aroid' }, { id: 2, name: 'Ficus', tag: '' }, { id: 3, name: '' }]) {
      answersError(t, await create(other), 40004, /^Another plant has this id/)
    }
    t.equal((await place.stored()).size, 3)
    t.strictSame((await place.stored()).get(1n), { name: 'Monstera deliciosa', tag: 'aroid' })
  })

  t.test('unknown fields are ignored, and are not stored', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    answersPlant(t, await create({ id: 1, name: 'Ficus', height: 2, Tag: 'tree', _id: 7, Name: 'x', $set: { name: 'y' }, constructor: 'z' }), { name: 'Ficus' })
    answersPlant(t, await create('{"id":2,"name":"Ficus","weight":1e400,"height":12345678901234567890.5,"deep":{"id":[9007199254740993]}}'), { name: 'Ficus' })
    answersPlant(t, await create({ id: 1, name: 'Ficus' }), { name: 'Ficus' }, 'without them it is the same plant')
    t.strictSame(await place.stored(), new Map([[1n, { name: 'Ficus' }], [2n, { name: 'Ficus' }]]))
  })

  t.test('any well-formed Unicode text is stored and returned unchanged', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    const expected = new Map<bigint, object>()
    let id = 0n
    async function keeps (name: string, tag: string): Promise<boolean> {
      expected.set(++id, { name, tag })
      const response = await create(`{"id":${id},"name":${JSON.stringify(name)},"tag":${JSON.stringify(tag)}}`)
      const plant = response.json()
      if (response.statusCode !== 200) t.comment(response.body)
      return response.statusCode === 200 && plant.name === name && plant.tag === tag
    }
    for (const text of ['\0', 'a\0b', '\u2028\u2029', '\u007f\u0080', '\ufeff', '\ufffe\uffff', '🪴', '\u{10ffff}', '"\\/\b\f\n\r\t', 'ש֔ל', 'e\u0301']) {
      t.ok(await keeps(text, text), `text of the bytes ${Buffer.from(text).toString('hex')}`)
    }
    await fc.assert(fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ unit: 'grapheme', maxLength: 30 }), keeps), { numRuns: 150 })
    const stored = await place.stored()
    t.equal(stored.size, expected.size)
    for (const [id, plant] of expected) {
      if (!isDeepStrictEqual(stored.get(id), plant)) t.fail(`stored as ${escaped(stored.get(id))} instead of ${escaped(plant)}`)
    }
  })
})

/** ASCII only, for messages that are safe in any terminal and TAP parser. */
function escaped (value: unknown): string {
  return JSON.stringify(value).replace(/[^ -~]/gu, character => `\\u{${(character.codePointAt(0) as number).toString(16)}}`)
}

const PLANT = { id: 1, name: 'a name that no log may contain', tag: 'a tag that no log may contain' }

/** A store whose requests stay pending until the test settles them. */
function waitingStore () {
  const waiting: { resolve: (outcome: CreateOutcome) => void, reject: (reason: unknown) => void }[] = []
  const store: PlantStore = { create: () => new Promise((resolve, reject) => { waiting.push({ resolve, reject }) }) }
  return { store, waiting }
}

function checkLog (t: Test, log: string[], level: number, statusCode: number, message: string): void {
  t.equal(log.length, 1)
  const line = JSON.parse(log[0] as string)
  const why = statusCode === 500 ? { err: { message } } : { reason: message }
  t.match(line, { level, statusCode, reqId: String, ...why })
  t.notMatch(log[0], /no log may contain/)
  t.notOk(log.join().includes(TOKEN))
}

t.test('any other failure of a store is 500, 50001, without internal detail, which is logged; its outcome is failed', async t => {
  const outcomes: unknown[] = []
  const observe = ({ outcome }: CreateMessage): void => { outcomes.push(outcome) }
  channels.createEnd.subscribe(observe)
  t.teardown(() => { channels.createEnd.unsubscribe(observe) })
  const message = 'secret detail'
  const errors = [
    new TypeError(message), Object.assign(new Error(message), { statusCode: 200, code: 'FST_ERR_BAD_URL' }),
    Object.assign(new Error(message), { validation: [{ instancePath: '/id' }] })
  ]
  for (const value of [...errors, undefined, null, message, 42, { id: 1 }]) {
    const failures: PlantStore['create'][] = [() => { throw value }, async () => { throw value }, async () => value as CreateOutcome]
    for (const create of failures) {
      const service = await buildService(t, { create })
      const response = await service.create(PLANT)
      answersError(t, response, 50001, /^The service failed and the plant may have been stored: retrying the same plant is safe$/)
      t.notMatch(response.body, /secret/)
      t.notOk('retry-after' in response.headers)
      if (create !== failures[2] && value instanceof Error) checkLog(t, service.log, 50, 500, message)
    }
  }
  t.strictSame(outcomes, Array(24).fill('failed'))
})

t.test('PlantNotStored is 503, 50301, with Retry-After; PlantOutcomeUnknown is 504, 50401', async t => {
  for (const [fault, error, message] of [
    [new PlantNotStored('secret detail'), 50301, /^This request did not store the plant: retry later$/],
    [new PlantOutcomeUnknown('secret detail'), 50401, /^The plant may have been stored: retry the same plant, which is always safe$/]
  ] as const) {
    const { create, log } = await buildService(t, { create: async () => { throw fault } })
    const response = await create(PLANT)
    answersError(t, response, error, message)
    t.match(response.headers['retry-after'] ?? '', error === 50301 ? /^[1-9]\d*$/ : /^$/)
    checkLog(t, log, 40, Math.floor(error / 100), 'secret detail')
  }
})

t.test('a store that does not respond within STORE_TIMEOUT is 504, 50401, and a later outcome is ignored', async t => {
  const { store, waiting } = waitingStore()
  const { create, log } = await buildService(t, store, { STORE_TIMEOUT: 500 })
  const start = performance.now()
  const responses = await Promise.all([create(PLANT), create(PLANT), create(PLANT)])
  const elapsed = performance.now() - start
  t.ok(elapsed > 475 && elapsed < 5_000, `${elapsed} ms`)
  for (const response of responses) answersError(t, response, 50401, /^The plant may have been stored/)
  t.equal(log.length, 3)
  t.match(JSON.parse(log[0] as string), { reason: /did not respond in time/ })

  waiting[0]?.resolve('stored')
  waiting[1]?.resolve('taken')
  waiting[2]?.reject(new Error('too late'))
  await sleep(5)
  t.equal(log.length, 3)
})

t.test('a create request beyond QUEUE_LIMIT is 503, 50301, with Retry-After, until there is room again', async t => {
  const { store, waiting } = waitingStore()
  const { create, log } = await buildService(t, store, { QUEUE_LIMIT: 2 })
  const first = create(PLANT)
  const second = create(PLANT)
  await until(() => waiting.length === 2)
  const refused = await create(PLANT)
  answersError(t, refused, 50301, /^Too many create requests are pending; this request did not store the plant: retry later$/)
  t.match(refused.headers['retry-after'], /^[1-9]\d*$/)
  t.equal(waiting.length, 2, 'it does not reach the store')
  t.equal(log.length, 1)

  waiting[0]?.resolve('stored')
  t.equal((await first).statusCode, 200)
  const third = create(PLANT)
  while (waiting.length < 3) await sleep(1)
  waiting[1]?.resolve('taken')
  waiting[2]?.resolve('same')
  answersError(t, await second, 40004, /^Another plant has this id/)
  t.equal((await third).statusCode, 200)
})

t.test('a request counts as pending until the store settles it, even after its response', async t => {
  const { store, waiting } = waitingStore()
  const { create } = await buildService(t, store, { QUEUE_LIMIT: 1, STORE_TIMEOUT: 700 })
  answersError(t, await create(PLANT), 50401, /^The plant may/)
  answersError(t, await create(PLANT), 50301, /^Too many create requests/)
  waiting[0]?.reject(new PlantNotStored('gave up'))
  await sleep(5)
  const again = create(PLANT)
  while (waiting.length < 2) await sleep(1)
  waiting[1]?.resolve('stored')
  t.equal((await again).statusCode, 200)
})
