import {
  BSON, Double, Long, MongoClient, MongoNetworkTimeoutError, MongoServerError, MongoServerSelectionError, type Document,
  type TopologyDescription
} from 'mongodb'
import t from 'tap'
import { faultOf, wasSilent } from '../../../src/stores/mongo/mongo-errors.js'
import { commandFailure, evidenceOf } from '../../../src/stores/mongo/mongo-outcomes.js'
import { mongoPlantStore } from '../../../src/stores/mongo/mongo-plant-store.js'
import type { NewPlant } from '../../../src/stores/plant-store.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, hang, miscount, stepDown, writeConcernError, writeErrors, type Cue
} from '../../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'
import { copiedDriver, ownDriver, writerOn } from './writers.js'

const FICUS: NewPlant = { id: 1n, name: 'Ficus', tag: 'a tag that no message may contain' }

const copy = copiedDriver(t)

const refused = (message: RegExp | string) => ({ name: 'PlantNotStored', permanent: true, message })
const notStored = { name: 'PlantNotStored', permanent: false }
const unknown = (message: RegExp | string = /./) => ({ name: 'PlantOutcomeUnknown', message })
/** As MongoDB words it: with the command, and so the plants, or with the document. */
const message = `refused: { name: "${FICUS.name}", tag: "${FICUS.tag}" }`
const duplicate = writeErrors({ at: [0], code: 11000, message })

/** What MongoDB does with the insert of one plant, and the results. */
const inserts: [name: string, insert: Cue, result: object][] = [
  ['the response counts none', miscount(0), [unknown('MongoDB: the response counts 0 of 1 inserted, and 0 errors')]],
  ['the response counts too many', miscount(2), [unknown(/counts 2 of 1 inserted/)]],
  ['the response counts nothing', miscount(undefined), [unknown(/counts undefined of 1 inserted/)]],
  ['the count is a double', miscount(new Double(1)), ['stored']],
  ['the count is a long', miscount(Long.fromNumber(1)), ['stored']],
  ['another unique index refuses it', duplicate, [refused('MongoDB: another unique index of the collection refuses it')]],
  ['an error with NoWritesPerformed', answer({ code: 112, labels: ['NoWritesPerformed'] }), notStored],
  ['an error that the server says is worth another try', answer({ code: 9999, labels: ['RetryableError'], message }), unknown('MongoDB: error 9999')],
  ['an error without a code', answer({ code: undefined, message }), unknown('MongoDB: error without a code')],
  ['a duplicate that the majority does not have, of a server that does not name the index',
    () => ({ ok: 1, n: 0, writeErrors: [{ index: 0, code: 11000, errmsg: message }] }), [unknown(/not on the majority yet/)]],
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
      return writer.write(plants, performance.now() + ms)
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
    t.match(await writer.write([again, other], performance.now() + 20_000), ['stored', 'taken'], `${name}: sent again`)
    for (const insert of [duplicate, answer({ code: 11000, message })]) {
      mongo.on('insert', insert)
      t.match(await writer.write([again], performance.now() + 20_000), ['same'], `${name}: a stored plant is a duplicate`)
    }
    mongo.on('find', answer({ code: 11602, message }), { times: 2 })
    const unread = await writer.write([again], performance.now() + 20_000)
    t.match(unread, [unknown('MongoDB: a plant with this id exists, but could not be read: MongoDB: error 11602')], name)
  }
})

t.test('a server that a host\'s driver cannot reach is known to be unreachable', async t => {
  for (const driver of [ownDriver, copy]) {
    const mongo = await ScriptedMongo.start(t)
    const writer = await writerOn(t, mongo, driver, { serverSelectionTimeoutMS: 500 })
    await mongo.stop()
    // The driver notices it with the first command.
    await t.rejects(writer.check(false))
    const unreachable = { message: /^MongoDB is not reachable: .*ECONNREFUSED/ }
    await t.rejects(writer.check(false), unreachable)
    t.match(await writer.write([FICUS], performance.now() + 60_000), { ...notStored, ...unreachable })
  }
})

t.test('the client\'s options for decoding responses make no difference', async t => {
  const mongo = await ScriptedMongo.start(t)
  const allSettings = [{}, { useBigInt64: true }, { promoteValues: false }, { promoteLongs: false }, { raw: true }]
  for (const [index, settings] of allSettings.entries()) {
    const writer = await writerOn(t, mongo, ownDriver, settings)
    const write = async (plant: NewPlant) => await writer.write([plant], performance.now() + 20_000)
    const plant = { id: 2n ** 60n + BigInt(index), name: 'Ficus' }
    t.strictSame(await write(plant), ['stored'], JSON.stringify(settings))
    t.strictSame(await write(plant), ['same'], JSON.stringify(settings))
    t.strictSame(await write({ ...plant, name: 'Fern' }), ['taken'], JSON.stringify(settings))
    mongo.on('insert', stepDown())
    t.match(await write({ id: BigInt(index), name: 'Fern' }), unknown(), 'the driver reads the topology version in an error')
  }
})

t.test('a plant whose id another program wrote as a double is found', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo)
  const id = 2n ** 62n
  const client = new MongoClient(mongo.url)
  t.teardown(() => client.close())
  const document: Document = { _id: Number(id), name: 'Ficus' }
  await client.db('plant_store').collection('plants').insertOne(document)
  const plants = [{ id, name: 'Ficus' }, { id, name: 'Fern' }]
  t.strictSame(await writer.write(plants, performance.now() + 20_000), ['same', 'taken'])
})

t.test('the count of inserted documents may be of any type of number', t => {
  for (const n of [2, 2n, new Double(2), Long.fromNumber(2)]) {
    t.equal(evidenceOf({ n, writeErrors: [{ index: 1, code: 121 }] }, 3).doubt, undefined)
  }
  for (const n of [1, 3, 2.5, NaN, null, undefined, Long.MAX_VALUE]) {
    t.match(evidenceOf({ n, writeErrors: [{ index: 1, code: 121 }] }, 3).doubt, unknown())
  }
  t.end()
})

t.test('a plant that is too large for a document is refused alone, with its size, and is not sent', async t => {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ url: mongo.url })
  t.teardown(() => store.close?.())
  const sizeOf = ({ id: _id, ...fields }: NewPlant) => BSON.calculateObjectSize({ _id, ...fields })
  const limit = 16_777_216
  const [untagged, tagged] = [{ id: 0n, name: '' }, { id: 0n, name: '', tag: '' }].map(sizeOf) as [number, number]
  const plants: NewPlant[] = [
    FICUS,
    { id: 2n, name: 'x'.repeat(18_000_000) },
    { id: 3n, name: 'ä'.repeat((limit - untagged + 1) / 2) },
    { id: 4n, name: 'x'.repeat(limit - tagged), tag: 'x' },
    { id: 5n, name: 'x'.repeat(limit - tagged), tag: '' },
    { id: 6n, name: 'Fern' }
  ]
  const outcomes = await Promise.allSettled(plants.map(plant => store.create(plant, performance.now() + 20_000)))
  for (const [index, plant] of plants.entries()) {
    const message = `MongoDB: its document would have ${sizeOf(plant)} bytes, and MongoDB takes ${limit} at most`
    t.match(outcomes[index], sizeOf(plant) > limit ? { reason: refused(message) } : { value: 'stored' })
  }
  t.strictSame([...mongo.plants().keys()].sort(), [1n, 5n, 6n])
})

const REFUSE = [2, 13, 18, 20, 26, 59, 73, 121, 166, 371, 8000, 9999, 10334, 13297, 14031]
const LEAVE_OPEN = [
  1, 6, 7, 8, 24, 46, 50, 64, 79, 89, 91, 96, 100, 112, 125, 150, 189, 262, 290, 9001, 10107, 11600, 11601, 11602,
  13388, 13435, 13436
]

t.test('an error code refuses plants for good, or leaves their outcome open: those of the command, or that of one document', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo)
  let id = 0n
  const write = () => writer.write([1, 2, 3].map(() => ({ ...FICUS, id: ++id })), performance.now() + 20_000)
  for (const code of [...REFUSE, ...LEAVE_OPEN]) {
    const expected = REFUSE.includes(code) ? refused : unknown
    mongo.on('insert', answer({ code, codeName: 'Name', message }))
    t.match(await write(), expected(`MongoDB: error ${code} (Name)`))
    mongo.on('insert', writeErrors({ at: [1], code, codeName: 'Name', message }))
    t.match(await write(), ['stored', expected(`MongoDB: write error ${code} (Name)`), 'stored'])
  }
  for (const code of [13, 371, 8000, 14031]) {
    mongo.on('insert', writeErrors({ at: [0, 1, 2], code, message }))
    t.match(await write(), refused(`MongoDB: write error ${code}`), 'each document, but for no fault of the plants: the store refuses')
  }
  mongo.on('insert', writeErrors({ at: [0, 1, 2], code: 121, message }))
  t.type(await write(), Array, 'each plant is refused for itself')
})

type Server = Partial<{ address: string, type: string, error: Error | null }>
const failed = (...servers: Server[]) => new MongoServerSelectionError('timed out', {
  servers: new Map(servers.map((server, index) => [index, server]))
} as unknown as TopologyDescription)
const withoutReason = Object.defineProperty(failed(), 'reason', { value: undefined })

t.test('a silent MongoDB is distinguished from one that is known to be unreachable', async t => {
  const silence = new MongoNetworkTimeoutError('connection timed out')
  const away = { error: new Error('connect ECONNREFUSED'), type: 'Unknown' }
  t.ok(wasSilent(silence))
  t.ok(wasSilent(Object.assign(new Error('no connection'), { name: 'MongoWaitQueueTimeoutError' })))
  t.ok(wasSilent(failed(away, { error: silence, type: 'Unknown' })))
  t.ok(wasSilent(failed({ error: null, type: 'Unknown' })), 'no response even to the handshake')
  const others = [new Error('socket hang up'), failed(away), failed({ error: null, type: 'RSSecondary' }), failed(), withoutReason]
  for (const error of others) t.notOk(wasSilent(error))
  t.match(commandFailure(silence, false), unknown(), 'as STORE_TIMEOUT is over before it is known to be unreachable')
  t.match(commandFailure(failed(away), false), notStored)
})

t.test('the reason why MongoDB is unreachable is one line, without what a server words', async t => {
  const refusal = new MongoServerError({ ok: 0, code: 18, codeName: 'AuthenticationFailed', errmsg: message })
  const lines: [error: Error, line: string][] = [
    [new Error('socket hang up'), 'MongoDB: socket hang up'],
    [failed({ address: 'a:1', error: new Error('connect ECONNREFUSED a:1') }, { address: 'b:2', error: refusal }),
      'MongoDB is not reachable: a:1: connect ECONNREFUSED a:1; b:2: error 18 (AuthenticationFailed)'],
    [failed({ address: 'a:1', error: null, type: 'RSSecondary' }), 'MongoDB is not reachable: a:1: RSSecondary'],
    [failed(), 'MongoDB: timed out'],
    [withoutReason, 'MongoDB: timed out'],
    [new Error(`the pool was cleared because of "${message}"`, { cause: refusal }), 'MongoDB: error 18 (AuthenticationFailed)'],
    [new DOMException('aborted', { name: 'AbortError', cause: new Error('no response in time') }), 'MongoDB: no response in time'],
    [Object.assign(new Error('refused'), { reason: 'a field of the server\'s' }), 'MongoDB: refused']
  ]
  for (const [error, line] of lines) t.equal(faultOf(error), line)
  t.match(commandFailure(failed({ address: 'a:1', error: refusal }), false), refused(/^MongoDB is not reachable: a:1: error 18/), 'every server refuses the user')
  const oneOfTwo = failed({ address: 'a:1', error: refusal }, { address: 'b:2', error: new Error('connect ECONNREFUSED') })
  t.match(commandFailure(oneOfTwo, false), notStored)
})
