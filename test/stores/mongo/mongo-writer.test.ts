import { once } from 'node:events'
import { BSON, Decimal128, Double, Int32, Long, MongoClient, MongoServerError, type Document } from 'mongodb'
import t from 'tap'
import type { NewPlant } from '../../../src/plant.js'
import { BatchedPlantStore } from '../../../src/stores/batching/batched-plant-store.js'
import { mongoPlantStore } from '../../../src/stores/mongo/mongo-plant-store.js'
import type { MongoWriter } from '../../../src/stores/mongo/mongo-writer.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, hang, miscount, stepDown, writeConcernError, writeErrors, type Cue
} from '../../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'
import { NO_UTF8 } from '../../support/scripted-mongodb/wire.js'
import { VirtualClock } from '../../support/virtual-clock.js'
import { copiedDriver, ownClientOn, ownDriver, writerOn, writerWith } from './writers.js'

t.jobs = 4

const soon = (ms = 60_000) => performance.now() + ms
const unreachable = { message: /^MongoDB: connect ECONNREFUSED 127/ }
const FICUS: NewPlant = { id: 1n, name: 'Ficus', tag: 'a tag that no message may contain' }
const THREE = [1n, 2n, 3n].map(id => ({ ...FICUS, id }))

const copy = copiedDriver(t)

const refused = (message: RegExp | string = /./) => ({ name: 'PlantNotStored', permanent: true, message })
const notStored = { name: 'PlantNotStored', permanent: false }
const unknown = (message: RegExp | string = /./) => ({ name: 'PlantOutcomeUnknown', message })
/** As MongoDB words it: with the command, and so the plants, or with the document. */
const message = `refused: { name: "${FICUS.name}", tag: "${FICUS.tag}" }`
const duplicate = writeErrors({ at: [0], code: 11000, message })

/** A duplicate that is not found by a read of what the majority has. */
const uncommitted = (keyPattern?: object): Cue => () =>
  ({ ok: 1, n: 0, writeErrors: [{ index: 0, code: 11000, errmsg: message, keyPattern }] })

/** What MongoDB does with the insert of one plant, and the results. */
const inserts: [name: string, insert: Cue, result: object][] = [
  ['the response counts none', miscount(0), [unknown('MongoDB: the response counts 0 of 1 inserted, 0 errors')]],
  ['the response counts too many', miscount(2), [unknown(/counts 2 of 1 inserted/)]],
  ['the response counts nothing', miscount(undefined), [unknown(/counts undefined of 1 inserted/)]],
  ['the count is a double', miscount(new Double(1)), ['stored']],
  ['the count is a long', miscount(Long.fromNumber(1)), ['stored']],
  ['another unique index refuses it', duplicate, [refused(/^MongoDB: another unique index of the .* refuses it$/)]],
  ['an error with NoWritesPerformed', answer({ code: 112, labels: ['NoWritesPerformed'] }), notStored],
  ['an overload', answer({ code: 462, labels: ['SystemOverloadedError', 'RetryableError'] }), unknown()],
  ['an error that is not known', answer({ code: 16908292, message }), unknown(/ error 16908292$/)],
  ['an error without a code', answer({ code: undefined, message }), unknown('MongoDB: error without a code')],
  ['an error whose message is cut', answer({ code: 13, message: `n${NO_UTF8}` }), refused('MongoDB: error 13')],
  ['a duplicate that the majority lacks, of a server that names no index', uncommitted(), [unknown(/majority yet$/)]],
  ['a duplicate of the id that the majority lacks', uncommitted({ _id: 1 }), [unknown(/majority yet$/)]],
  ['a duplicate as the error of the command', answer({ code: 11000, message }), [unknown(/not on the majority yet/)]],
  ['a write concern error', writeConcernError({ code: 64, message }), [unknown('MongoDB: write concern error 64')]],
  ['the connection closes before storing', closeBeforeStoring(), unknown()],
  ['the connection closes after storing', closeAfterStoring(), unknown()]
]

t.test('a plant has the outcome that the evidence allows, whichever copy of the driver the host has', async t => {
  const drivers = { 'own driver': ownDriver, 'another copy': copy }
  for (const [name, driver] of Object.entries(drivers)) {
    const mongo = await ScriptedMongo.start(t)
    const writer = await writerOn(t, mongo, driver)
    let id = 0n
    const write = (count = 1, ms = 20_000) => {
      const plants = Array.from({ length: count }, () => ({ ...FICUS, id: ++id }))
      return writer.write(plants, soon(ms))
    }
    for (const [what, insert, result] of inserts) {
      mongo.on('insert', insert)
      t.match(await write(), result, `${name}: ${what}`)
    }
    mongo.on('insert', hang())
    t.match(await write(1, 500), unknown('MongoDB: no response in time'), `${name}: it hangs`)
    mongo.on('insert', writeErrors({ at: [1, 2], code: 6 }))
    t.match(await write(3), ['stored', unknown(), unknown()], `${name}: a shard is lost`)
    const [again, other] = [{ ...FICUS, id }, { ...FICUS, id: id - 2n, name: 'Fern' }]
    t.match(await writer.write([again, other], soon()), ['stored', 'taken'], `${name}: sent again`)
    for (const insert of [duplicate, answer({ code: 11000, message })]) {
      mongo.on('insert', insert)
      t.match(await writer.write([again], soon()), ['same'], `${name}: a stored plant is a duplicate`)
    }
    mongo.on('find', answer({ code: 11602, message }), { times: 2 })
    const unread = await writer.write([again], soon())
    const fault = 'MongoDB: a plant with this id exists, but could not be read: MongoDB: error 11602'
    t.match(unread, [unknown(fault)], name)
  }
})

t.test('the plants of an insert stand in the order of their ids, and each has its own result', async t => {
  const inserted: bigint[][] = []
  const writer = writerWith(({ documents }) => {
    inserted.push(documents.map(({ _id }) => _id))
    const refusedAt = documents.findIndex(({ name }) => name === 'refused')
    return { ok: 1, n: documents.length - 1, writeErrors: [{ index: refusedAt, code: 121 }] }
  })
  const ids = [7n, -(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n, 2n ** 53n, -3n, 0n]
  const plants = ids.map((id, index) => ({ id, name: index === 2 ? 'refused' : 'Ficus' }))
  const stored = ids.map(() => 'stored')
  t.match(await writer.write(plants, soon()), stored.with(2, refused() as never))
  t.strictSame(inserted, [[-(2n ** 63n), -3n, 0n, 7n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n]])
  t.equal(plants[0]?.id, 7n, 'the caller\'s list is as it was')
})

t.test('the client\'s options for decoding responses make no difference', async t => {
  const mongo = await ScriptedMongo.start(t)
  const allSettings = [
    {}, { useBigInt64: true }, { promoteValues: false }, { promoteLongs: false }, { raw: true },
    { enableUtf8Validation: false }
  ]
  for (const [index, settings] of allSettings.entries()) {
    const writer = await writerOn(t, mongo, ownDriver, settings)
    const write = async (plant: NewPlant) => await writer.write([plant], soon())
    const plant = { id: 2n ** 60n + BigInt(index), name: 'Ficus' }
    t.strictSame(await write(plant), ['stored'], JSON.stringify(settings))
    t.strictSame(await write(plant), ['same'], JSON.stringify(settings))
    t.strictSame(await write({ ...plant, name: 'Fern' }), ['taken'], JSON.stringify(settings))
    mongo.on('insert', stepDown())
    const interrupted = await write({ id: BigInt(index), name: 'Fern' })
    t.match(interrupted, unknown(), 'the driver reads the topology version in an error')
  }
})

/** Stores documents as another program does. */
async function storeOn (mongo: ScriptedMongo, documents: Document[]): Promise<void> {
  const client = new MongoClient(mongo.url)
  await client.db('plant_store').collection('plants').insertMany(documents)
  await client.close()
}

t.test('an existing plant is found whatever type of number another program gave its id', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo)
  const ids: [id: bigint, existing: unknown][] = [
    [2n ** 62n, new Double(2 ** 62)], [-5n, new Double(-5)], [6n, new Int32(6)],
    [7n, Decimal128.fromString('7.0')], [10n, Decimal128.fromString('1E+1')],
    [-120n, Decimal128.fromString('-1.20E+2')]
  ]
  await storeOn(mongo, ids.map(([, _id]) => ({ _id, name: 'Ficus' })))
  for (const [id, existing] of ids) {
    t.strictSame(await writer.write([{ id, name: 'Ficus' }], soon()), ['same'], String(existing))
    t.strictSame(await writer.write([{ id, name: 'Fern' }], soon()), ['taken'], String(existing))
  }
})

t.test('what another program stored under an id is the same plant only if it has this very name and tag', async t => {
  const mongo = await ScriptedMongo.start(t)
  const strict = await writerOn(t, mongo)
  const lenient = await writerOn(t, mongo, ownDriver, { enableUtf8Validation: false })
  const replaced = '\ufffd\ufffd\ufffd'
  const cases: [existing: Document, plant: Omit<NewPlant, 'id'>, outcome: string][] = [
    [{ name: 'Ficus', tag: null }, { name: 'Ficus' }, 'same'],
    [{ name: 'Ficus', tag: null }, { name: 'Ficus', tag: '' }, 'taken'],
    [{ name: 'Ficus', tag: 5 }, { name: 'Ficus', tag: '5' }, 'taken'],
    [{ name: new BSON.BSONSymbol('Ficus') }, { name: 'Ficus' }, 'taken'],
    [{ name: null }, { name: 'null' }, 'taken'],
    [{}, { name: '' }, 'taken'],
    [{ name: replaced }, { name: replaced }, 'same'],
    [{ name: NO_UTF8 }, { name: replaced }, 'taken'],
    [{ name: 'Ficus', tag: NO_UTF8 }, { name: 'Ficus', tag: replaced }, 'taken'],
    [{ name: 'Ficus', color: NO_UTF8 }, { name: 'Ficus' }, 'same']
  ]
  await storeOn(mongo, cases.map(([existing], index) => ({ _id: index + 1, ...existing })))
  const plants = cases.map(([, plant], index) => ({ id: BigInt(index + 1), ...plant }))
  const outcomes = cases.map(([, , outcome]) => outcome)
  for (const writer of [strict, lenient]) {
    t.strictSame(await writer.write(plants, soon()), outcomes, 'in one batch')
    for (const [index, plant] of plants.entries()) {
      t.strictSame(await writer.write([plant], soon()), [outcomes[index]], `alone: ${JSON.stringify(cases[index])}`)
    }
  }
})

t.test('a plant is stored only if the response counts it, whatever the response is like', async t => {
  const respondWith = (reply: unknown): MongoWriter => writerWith(() => reply)
  for (const n of [2, 2n, new Double(2), Long.fromNumber(2)]) {
    const results = await respondWith({ n, writeErrors: [{ index: 1, code: 121 }] }).write(THREE, soon())
    t.match(results, ['stored', refused(), 'stored'])
  }
  for (const n of [1, 3, 2.5, NaN, null, undefined, Long.MAX_VALUE]) {
    const results = await respondWith({ n, writeErrors: [{ index: 1, code: 121 }] }).write(THREE, soon())
    t.match(results, [unknown(), refused(), unknown()])
  }
  for (const index of [null, undefined, 0.5, 3, -1, [], true]) {
    const results = await respondWith({ n: 2, writeErrors: [{ index, code: 121 }] }).write(THREE, soon())
    t.match(results, [unknown(), unknown(), unknown()], 'an error of no plant')
  }
  for (const reply of [undefined, null, 'ok', { n: 1, writeErrors: [null] }, { n: 0, writeErrors: 'none' }]) {
    const store = new BatchedPlantStore(respondWith(reply))
    await t.rejects(store.create(FICUS, soon(200)), unknown(), JSON.stringify(reply))
    await store.close()
  }
})

t.test('a plant that the driver cannot write is refused alone, and at once', async t => {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ url: mongo.url })
  t.teardown(() => store.close?.())
  const plants: NewPlant[] = [FICUS, { id: 2n, name: 'x'.repeat(18_000_000) }, { id: 3n, name: 'Fern' }]
  const outcomes = await Promise.allSettled(plants.map(plant => store.create(plant, soon())))
  t.match(outcomes, [{ value: 'stored' }, { reason: refused(/^MongoDB: /) }, { value: 'stored' }])
  t.strictSame([...mongo.plants().keys()].sort(), [1n, 3n])
})

t.test('an error that one of several plants caused refuses none of the others for good', async t => {
  const badValue = new MongoServerError({ ok: 0, code: 2, codeName: 'BadValue', errmsg: message })
  const bsonError = Object.assign(new Error('it cannot be written'), { name: 'BSONError' })
  for (const error of [badValue, bsonError, new RangeError('out of range')]) {
    const writer = writerWith(({ documents }) => {
      if (documents.some(({ _id }) => _id === 2n)) throw error
      return { ok: 1, n: documents.length }
    })
    t.match(await writer.write(THREE, soon()), notStored, error.name)
    t.match(await writer.write(THREE.slice(1, 2), soon()), [refused()], 'alone, it is refused')
    t.match(await writer.write(THREE.slice(2), soon()), ['stored'])
  }
  for (const error of [new TypeError('of a wrapped driver'), Object.assign(new Error(), { name: 'BSONOffsetError' })]) {
    const writer = writerWith(() => { throw error })
    t.match(await writer.write([FICUS], soon()), unknown(), 'the response may be at fault')
  }
})

const OF_THE_PLANT = [2, 121, 10334, 16755]
const OF_THE_STORE = [13, 18, 20, 26, 73, 166, 371, 8000, 13297, 14031]
const OPEN = [
  0, 1, 6, 7, 8, 24, 46, 50, 59, 64, 75, 79, 89, 91, 96, 100, 112, 125, 133, 134, 150, 189, 202, 237, 249, 262, 279,
  290, 355, 365, 402, 407, 433, 449, 450, 453, 462, 9001, 9999, 10058, 10107, 11600, 11601, 11602, 13388, 13435, 13436,
  46841, 91331, 10045600, 16908292, 16908741, 50463173
]

t.test('only a code that is certain refuses plants for good: of a command or of a document', async t => {
  for (const code of [...OF_THE_PLANT, ...OF_THE_STORE, ...OPEN]) {
    const expected = OPEN.includes(code) ? unknown : refused
    const ofCommand = new MongoServerError({ ok: 0, code, codeName: 'Name', errmsg: message })
    const failing = writerWith(() => { throw ofCommand })
    t.match([await failing.write([FICUS], soon())].flat(), [expected(`MongoDB: error ${code} (Name)`)])
    const writer = writerWith(() => ({ n: 1, writeErrors: [{ index: 0, code, codeName: 'Name' }] }))
    const [result] = await writer.write(THREE.slice(0, 2), soon()) as readonly unknown[]
    t.match(result, expected(`MongoDB: write error ${code} (Name)`))
  }
})

t.test('a batch is refused as a whole if each document is, but for no fault of the plants', async t => {
  const refusing = (at: number[], code: number) => writerWith(() => (
    { n: 3 - at.length, writeErrors: at.map(index => ({ index, code })) }
  )).write(THREE, soon())
  for (const code of OF_THE_STORE) t.match(await refusing([0, 1, 2], code), refused(`MongoDB: write error ${code}`))
  t.type(await refusing([0, 1, 2], 121), Array, 'each plant is refused for itself')
  t.match(await refusing([0, 2], 13), [refused(/13/), 'stored', refused(/13/)])
})

t.test('a plant whose code is not known is sent again until it is stored', async t => {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ url: mongo.url })
  t.teardown(() => store.close?.())
  mongo.on('insert', answer({ code: 50463173 })).on('insert', writeErrors({ at: [0], code: 16908292 }), { times: 2 })
  t.equal(await store.create(FICUS, soon(5_000)), 'stored')
})

interface Fault { name: string, message?: string, labels?: string[], code?: number, cause?: Error }

const errorOf = ({ name, message = 'of the driver', labels, code, cause }: Fault): Error =>
  Object.assign(new Error(message, { cause }), { name, code, errorLabels: labels })

t.test('whether a plant was sent is known from the driver\'s error alone', async t => {
  const connecting = ['SystemOverloadedError', 'RetryableError']
  const cases: { fault: Fault, result: object }[] = [
    { fault: { name: 'MongoServerSelectionError' }, result: notStored },
    { fault: { name: 'MongoServerSelectionError', code: 13 }, result: notStored },
    { fault: { name: 'MongoWaitQueueTimeoutError' }, result: notStored },
    { fault: { name: 'MongoPoolClearedError', labels: ['PoolRequestedRetry'] }, result: notStored },
    { fault: { name: 'MongoTopologyClosedError' }, result: notStored },
    { fault: { name: 'MongoNotConnectedError' }, result: notStored },
    { fault: { name: 'MongoMissingDependencyError' }, result: notStored },
    { fault: { name: 'MongoNetworkError', labels: connecting }, result: notStored },
    { fault: { name: 'MongoNetworkTimeoutError', labels: ['HandshakeError', ...connecting] }, result: notStored },
    { fault: { name: 'MongoServerError', code: 91, labels: ['HandshakeError', 'ResetPool'] }, result: notStored },
    { fault: { name: 'MongoServerError', code: 18, labels: ['HandshakeError'] }, result: refused() },
    { fault: { name: 'MongoServerError', code: 462, labels: connecting }, result: unknown() },
    { fault: { name: 'PoolClearedOnNetworkError', labels: ['PoolRequestedRetry'] }, result: unknown() },
    { fault: { name: 'MongoNetworkError', labels: ['ResetPool'] }, result: unknown() },
    { fault: { name: 'MongoNetworkError' }, result: unknown() },
    { fault: { name: 'MongoNetworkTimeoutError' }, result: unknown() },
    { fault: { name: 'MongoClientClosedError' }, result: unknown() },
    { fault: { name: 'AbortError', code: 20 }, result: unknown() }
  ]
  for (const { fault, result } of cases) {
    const writer = writerWith(() => { throw errorOf(fault) })
    t.match(await writer.write([FICUS], soon()), result, JSON.stringify(fault))
  }
})

t.test('the reason is the driver\'s, in one line, but a code where a server words it', async t => {
  const refusal = new MongoServerError({ ok: 0, code: 18, codeName: 'AuthenticationFailed', errmsg: message })
  const away = { name: 'MongoServerSelectionError', message: 'connect ECONNREFUSED a:1' }
  const ofOpenSsl = { name: 'MongoNetworkError', message: 'write EPROTO:\n handshake failure\n' }
  const quoting = { name: 'MongoPoolClearedError', message: `cleared because of "${message}"`, cause: refusal }
  const lines: [error: Error, line: string][] = [
    [errorOf(away), 'MongoDB: connect ECONNREFUSED a:1'],
    [errorOf(ofOpenSsl), 'MongoDB: write EPROTO: handshake failure'],
    [refusal, 'MongoDB: error 18 (AuthenticationFailed)'],
    [errorOf(quoting), 'MongoDB: error 18 (AuthenticationFailed)']
  ]
  for (const [error, line] of lines) {
    const writer = writerWith(() => { throw error })
    t.match(await writer.write([FICUS], soon()), { message: line })
    await t.rejects(writer.check(false), { message: line })
  }
})

t.test('a thorough check does what a write needs, and changes nothing', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo)
  const unauthorized = answer({ code: 13, codeName: 'Unauthorized', message: 'a message that is not shown' })
  const blocked: Cue = () => ({ ok: 1, n: 0, writeErrors: [{ index: 0, code: 371, errmsg: 'blocked' }] })
  const refused = 'MongoDB: error 13 (Unauthorized)'
  const cases: { cues: Record<string, Cue>, result: string | undefined }[] = [
    { cues: {}, result: undefined },
    { cues: { update: unauthorized }, result: refused },
    { cues: { update: blocked }, result: 'MongoDB: error 371' },
    { cues: { update: writeConcernError({ code: 100 }) }, result: 'MongoDB: error 100' },
    { cues: { ping: unauthorized }, result: undefined }
  ]
  for (const { cues, result } of cases) {
    for (const [command, cue] of Object.entries(cues)) mongo.on(command, cue)
    const found = await writer.check(true).then(() => undefined, ({ message }) => message)
    t.equal(found, result, Object.keys(cues).join(', '))
  }
  await t.rejects(writer.check(false), { message: refused }, 'otherwise it is a ping')
  t.equal(mongo.plants().size, 0)
})

t.test('a check of a server that hangs ends within 5 s, though the driver would wait for ever', async t => {
  const mongo = await ScriptedMongo.start(t)
  const clock = new VirtualClock()
  const { writer } = ownClientOn(t, mongo, { clock })
  await writer.check(false)
  const asked = new Promise<void>(resolve => { mongo.on('ping', () => resolve()) })
  const check = writer.check(false)
  check.catch(() => {})
  await asked
  await clock.pass(5_000)
  await t.rejects(check, { message: 'MongoDB: no response in time' })
})

t.test('a server that a host\'s driver cannot reach is known to be unreachable', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo, copy, { serverSelectionTimeoutMS: 500 })
  await mongo.stop()
  // The driver notices it with the first command.
  await t.rejects(writer.check(false))
  await t.rejects(writer.check(false), unreachable)
  t.match(await writer.write([FICUS], soon()), { ...notStored, ...unreachable })
})

t.test('a client of the store\'s own that finds no server is replaced, once for all commands that fail', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const { writer, clients } = ownClientOn(t, mongo)
  await Promise.all([1, 2].map(() => t.rejects(writer.check(false), { message: /^MongoDB: / })))
  t.equal(clients.length, 2)
  t.match(await writer.write([FICUS], soon()), { ...notStored, ...unreachable })
  t.equal(clients.length, 3, 'so is the one that replaces it')
  await mongo.start()
  await t.resolves(writer.check(false))
  t.strictSame(await writer.write([FICUS], soon()), ['stored'])
  t.equal(clients.length, 3)
})

t.test('a client whose first connection fails only after its command was given up is replaced, too', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const { writer, clients } = ownClientOn(t, mongo, { serverSelectionTimeoutMS: 500 })
  t.match(await writer.write([FICUS], soon(150)), unknown('MongoDB: no response in time'))
  t.match(await writer.write([FICUS], soon()), notStored)
  await mongo.start()
  await t.resolves(writer.check(false))
  t.equal(clients.length, 2)
})

t.test('an insert that hangs is given up soon after the driver would, and 50 ms before the deadline', async t => {
  const mongo = await ScriptedMongo.start(t)
  for (const [timeout, givenUp] of [[60_000, 12_000], [1_000, 950]] as const) {
    const clock = new VirtualClock()
    const { writer, clients: [client] } = ownClientOn(t, mongo, { clock, socketTimeoutMS: 10_000 })
    await writer.check(false)
    const asked = new Promise<void>(resolve => { mongo.on('insert', () => resolve()) })
    const freed = once(client as MongoClient, 'connectionCheckedIn')
    let result: unknown
    const write = writer.write([FICUS], clock.now() + timeout).then(results => { result = results })
    await asked
    await clock.pass(givenUp - 1)
    t.equal(result, undefined)
    await clock.pass(2)
    await write
    t.match(result, unknown('MongoDB: no response in time'))
    await freed
  }
})

t.test('a create whose insert never ends has its outcome, unknown, at the deadline', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = new MongoClient(mongo.url)
  t.teardown(() => client.close())
  const store = mongoPlantStore({ db: client.db('plant_store') })
  mongo.on('insert', hang())
  await t.rejects(store.create(FICUS, soon(300)), unknown('MongoDB: no response in time'))
  await store.close?.()
})
