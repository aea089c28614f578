import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  BSON, Double, Long, MongoClient, MongoNetworkTimeoutError, MongoServerError, MongoServerSelectionError,
  type CommandStartedEvent, type Document, type TopologyDescription
} from 'mongodb'
import t from 'tap'
import { BatchedPlantStore } from '../../../src/stores/batching/batched-plant-store.js'
import type { MongoCollection } from '../../../src/stores/mongo/mongo-driver.js'
import { faultOf, wasSilent } from '../../../src/stores/mongo/mongo-errors.js'
import { commandFailure, evidenceOf, writeFailure } from '../../../src/stores/mongo/mongo-outcomes.js'
import { mongoPlantStore } from '../../../src/stores/mongo/mongo-plant-store.js'
import { MongoWriter } from '../../../src/stores/mongo/mongo-writer.js'
import type { NewPlant, PlantStore } from '../../../src/stores/store.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, delay, hang, miscount, stepDown, writeConcernError, writeErrors,
  type Cue
} from '../../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'
import { VirtualClock } from '../../support/virtual-clock.js'
import { copiedDriver, ownClientOn, ownDriver, writerOn } from './writers.js'

t.jobs = 4

const soon = (ms = 60_000) => performance.now() + ms
const unreachable = { message: /^MongoDB is not reachable: 127.*ECONNREFUSED/ }
const FICUS: NewPlant = { id: 1n, name: 'Ficus', tag: 'a tag that no message may contain' }

const copy = copiedDriver(t)

const refused = (message: RegExp | string) => ({ name: 'PlantNotStored', permanent: true, message })
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
  ['an error worth another try', answer({ code: 9999, labels: ['RetryableError'], message }), unknown(/ error 9999$/)],
  ['an error without a code', answer({ code: undefined, message }), unknown('MongoDB: error without a code')],
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

t.test('a server that a host\'s driver cannot reach is known to be unreachable', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo, copy, { serverSelectionTimeoutMS: 500 })
  await mongo.stop()
  // The driver notices it with the first command.
  await t.rejects(writer.check(false))
  await t.rejects(writer.check(false), unreachable)
  t.match(await writer.write([FICUS], soon()), { ...notStored, ...unreachable })
})

t.test('the client\'s options for decoding responses make no difference', async t => {
  const mongo = await ScriptedMongo.start(t)
  const allSettings = [{}, { useBigInt64: true }, { promoteValues: false }, { promoteLongs: false }, { raw: true }]
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

t.test('a plant whose id another program wrote as a double is found', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo)
  const id = 2n ** 62n
  const client = new MongoClient(mongo.url)
  t.teardown(() => client.close())
  const document: Document = { _id: Number(id), name: 'Ficus' }
  await client.db('plant_store').collection('plants').insertOne(document)
  const plants = [{ id, name: 'Ficus' }, { id, name: 'Fern' }]
  t.strictSame(await writer.write(plants, soon()), ['same', 'taken'])
})

t.test('the count of inserted documents may be of any type of number', t => {
  for (const n of [2, 2n, new Double(2), Long.fromNumber(2)]) {
    t.equal(evidenceOf({ n, writeErrors: [{ index: 1, code: 121 }] }, 3).doubt, undefined)
  }
  for (const n of [1, 3, 2.5, NaN, null, undefined, Long.MAX_VALUE]) {
    t.match(evidenceOf({ n, writeErrors: [{ index: 1, code: 121 }] }, 3).doubt, unknown())
  }
  for (const index of [null, undefined, 0.5, 3, -1, [], true]) {
    const { errors, doubt } = evidenceOf({ n: 2, writeErrors: [{ index: index as number, code: 121 }] }, 3)
    t.match({ size: errors.size, doubt }, { size: 0, doubt: unknown() }, 'an error of no plant')
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
  const outcomes = await Promise.allSettled(plants.map(plant => store.create(plant, soon())))
  for (const [index, plant] of plants.entries()) {
    const message = `MongoDB: its document would have ${sizeOf(plant)} bytes, and MongoDB takes ${limit} at most`
    t.match(outcomes[index], sizeOf(plant) > limit ? { reason: refused(message) } : { value: 'stored' })
  }
  t.strictSame([...mongo.plants().keys()].sort(), [1n, 5n, 6n])
})

const REFUSE = [2, 13, 18, 20, 26, 59, 73, 121, 166, 371, 8000, 9999, 10334, 13297, 14031]
const LEAVE_OPEN = [
  0, 1, 6, 7, 8, 24, 46, 50, 64, 75, 79, 89, 91, 96, 100, 112, 125, 133, 134, 150, 189, 202, 237, 249, 262, 279, 290,
  355, 365, 402, 407, 433, 449, 450, 453, 462, 9001, 10058, 10107, 11600, 11601, 11602, 13388, 13435, 13436, 46841,
  91331, 10045600
]

t.test('an error code refuses plants for good, or leaves the outcome open: of a command or one document', async t => {
  for (const code of [...REFUSE, ...LEAVE_OPEN]) {
    const expected = REFUSE.includes(code) ? refused : unknown
    const ofCommand = new MongoServerError({ ok: 0, code, codeName: 'Name', errmsg: message })
    t.match(commandFailure(ofCommand, true), expected(`MongoDB: error ${code} (Name)`))
    t.match(writeFailure({ index: 0, code, codeName: 'Name' }), expected(`MongoDB: write error ${code} (Name)`))
  }
  t.match(commandFailure(new DOMException('late', 'TimeoutError'), true), unknown('MongoDB: late'), 'its code is 23')
  const missing = Object.assign(new Error('Optional module snappy not found'), { name: 'MongoMissingDependencyError' })
  t.match(commandFailure(missing, true), refused(/snappy/), 'no command is sent without what compresses it')
})

t.test('a batch is refused as a whole if each document is, but for no fault of the plants', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo)
  const plants = [1n, 2n, 3n].map(id => ({ ...FICUS, id }))
  const write = (at: number[], code: number) => {
    mongo.on('insert', writeErrors({ at, code, message }))
    return writer.write(plants, soon())
  }
  for (const code of [13, 18, 20, 26, 73, 166, 371, 8000, 13297, 14031]) {
    t.match(await write([0, 1, 2], code), refused(`MongoDB: write error ${code}`))
  }
  t.type(await write([0, 1, 2], 121), Array, 'each plant is refused for itself')
  t.match(await write([0, 2], 13), [refused(/13/), 'stored', refused(/13/)])
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
  const others = [
    new Error('socket hang up'), failed(away), failed({ error: null, type: 'RSSecondary' }), failed(), withoutReason
  ]
  for (const error of others) t.notOk(wasSilent(error))
  t.match(commandFailure(silence, false), unknown(), 'as STORE_TIMEOUT is over before it is known to be unreachable')
  t.match(commandFailure(failed(away), false), notStored)
  t.match(commandFailure(failed(), false), notStored, 'no server is known')
})

t.test('the reason why MongoDB is unreachable is one line, without what a server words', async t => {
  const refusal = new MongoServerError({ ok: 0, code: 18, codeName: 'AuthenticationFailed', errmsg: message })
  const lines: [error: Error, line: string][] = [
    [new Error('socket hang up\n'), 'MongoDB: socket hang up'],
    [failed({ address: 'a:1', error: new Error('connect ECONNREFUSED a:1') }, { address: 'b:2', error: refusal }),
      'MongoDB is not reachable: a:1: connect ECONNREFUSED a:1; b:2: error 18 (AuthenticationFailed)'],
    [failed({ address: 'a:1', error: null, type: 'RSSecondary' }), 'MongoDB is not reachable: a:1: RSSecondary'],
    [failed(), 'MongoDB is not reachable: no server of the replica set that the URL names was found'],
    [withoutReason, 'MongoDB: timed out'],
    [new Error(`cleared because of "${message}"`, { cause: refusal }), 'MongoDB: error 18 (AuthenticationFailed)'],
    [new DOMException('aborted', { name: 'AbortError', cause: new Error('too late') }), 'MongoDB: too late'],
    [Object.assign(new Error('refused'), { reason: 'a field of the server\'s' }), 'MongoDB: refused']
  ]
  for (const [error, line] of lines) t.equal(faultOf(error), line)
  const everyOne = commandFailure(failed({ address: 'a:1', error: refusal }), false)
  t.match(everyOne, refused(/^MongoDB is not reachable: a:1: error 18/), 'every server refuses the user')
  const away = new Error('connect ECONNREFUSED')
  const oneOfTwo = failed({ address: 'a:1', error: refusal }, { address: 'b:2', error: away })
  t.match(commandFailure(oneOfTwo, false), notStored)
})

t.test('a thorough check does what a write needs, and changes nothing', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo)
  const unauthorized = answer({ code: 13, codeName: 'Unauthorized', message: 'a message that is not shown' })
  const blocked: Cue = () => ({ ok: 1, n: 0, writeErrors: [{ index: 0, code: 371, errmsg: 'blocked' }] })
  const mayInsert = (collection: string, db = 'plant_store'): Cue => () => {
    const privilege = { actions: ['find', 'insert'], resource: { db, collection } }
    return { ok: 1, authInfo: { authenticatedUserPrivileges: [privilege] } }
  }
  const refused = 'MongoDB: error 13 (Unauthorized)'
  const cases: { cues: Record<string, Cue>, result: string | undefined }[] = [
    { cues: {}, result: undefined },
    { cues: { insert: unauthorized }, result: refused },
    { cues: { insert: answer({ code: 16, message: 'there is nothing to insert' }) }, result: undefined },
    { cues: { update: unauthorized }, result: refused },
    { cues: { update: unauthorized, connectionStatus: mayInsert('plants') }, result: undefined },
    { cues: { update: unauthorized, connectionStatus: mayInsert('') }, result: undefined },
    { cues: { update: unauthorized, connectionStatus: mayInsert('animals') }, result: refused },
    { cues: { update: unauthorized, connectionStatus: mayInsert('', 'garden') }, result: refused },
    { cues: { update: blocked }, result: 'MongoDB: error 371' },
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

t.test('a check that takes too long names each server and its error, though the driver would wait longer', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const clock = new VirtualClock()
  const { writer, clients: [client] } = ownClientOn(t, mongo, { clock, serverSelectionTimeoutMS: 60_000 })
  const check = writer.check(true)
  check.catch(() => {})
  for (let failed = false; !failed;) {
    const [{ newDescription }] = await once(client as MongoClient, 'topologyDescriptionChanged')
    failed = [...newDescription.servers.values()].some(({ error }) => error !== null)
  }
  await clock.pass(5_000)
  await t.rejects(check, unreachable)
})

t.test('a check names a server that accepts connections and never responds', async t => {
  const silent = createServer()
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  const clock = new VirtualClock()
  const url = `mongodb://127.0.0.1:${port}/`
  const { writer } = ownClientOn(t, { url }, { clock, serverSelectionTimeoutMS: 60_000 })
  const check = writer.check(true)
  check.catch(() => {})
  const [socket] = await once(silent, 'connection')
  t.teardown(() => socket.destroy())
  await clock.pass(5_000)
  await t.rejects(check, { message: `MongoDB is not reachable: 127.0.0.1:${port}: no response` })
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

t.test('a client of the store\'s own that finds no server is replaced, once for all commands that fail', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const { writer, clients } = ownClientOn(t, mongo)
  await Promise.all([1, 2].map(() => t.rejects(writer.check(false), unreachable)))
  t.equal(clients.length, 2)
  t.match(await writer.write([FICUS], soon()), { name: 'PlantNotStored', permanent: false, ...unreachable })
  t.equal(clients.length, 3, 'so is the one that replaces it')
  await mongo.start()
  await t.resolves(writer.check(false))
  t.strictSame(await writer.write([FICUS], soon()), ['stored'])
  t.equal(clients.length, 3)
})

t.test('a client stays while all servers respond, as in an election', async t => {
  const mongo = await ScriptedMongo.start(t)
  const { writer, clients } = ownClientOn(t, mongo, { serverSelectionTimeoutMS: 300 })
  await writer.check(false)
  const noticed = once(clients[0] as MongoClient, 'topologyDescriptionChanged')
  mongo.stepDown({ electAfter: 1_000 })
  await noticed
  await t.rejects(writer.check(false), { message: /^MongoDB is not reachable: .*RSSecondary/ })
  t.equal(clients.length, 1)
})

t.test('an insert that hangs is given up soon after the driver would, and 50 ms before the deadline', async t => {
  const mongo = await ScriptedMongo.start(t)
  for (const [timeout, givenUp] of [[60_000, 12_000], [1_000, 950]] as const) {
    const clock = new VirtualClock()
    const { writer } = ownClientOn(t, mongo, { clock, socketTimeoutMS: 10_000 })
    await writer.check(false)
    const asked = new Promise<void>(resolve => { mongo.on('insert', () => resolve()) })
    let result: unknown
    const write = writer.write([FICUS], clock.now() + timeout).then(results => { result = results })
    await asked
    await clock.pass(givenUp - 1)
    t.equal(result, undefined)
    await clock.pass(2)
    await write
    t.match(result, unknown('MongoDB: no response in time'))
  }
})

t.test('a client whose first connection fails only after its command was given up is replaced, too', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const { writer, clients } = ownClientOn(t, mongo, { serverSelectionTimeoutMS: 500 })
  t.match(await writer.write([FICUS], soon(150)), { name: 'PlantNotStored', ...unreachable })
  await mongo.start()
  await t.resolves(writer.check(false))
  t.equal(clients.length, 2)
})

t.test('with a client whose commands nothing tells of, a broken connection leaves the outcome unknown', async t => {
  const mongo = await ScriptedMongo.start(t)
  const unmonitored = await writerOn(t, mongo, ownDriver, { monitorCommands: false })
  const { writer: unheard, clients: [client] } = ownClientOn(t, mongo)
  await unheard.check(false)
  client?.removeAllListeners('commandStarted')
  for (const writer of [unmonitored, unheard]) {
    mongo.on('insert', closeBeforeStoring())
    t.match(await writer.write([FICUS], soon()), unknown())
  }
})

t.test('while another member of the replica set is lost, an insert that takes 2 s is sent once', async t => {
  const mongo = await ScriptedMongo.start(t)
  const secondary = await mongo.startSecondary(t)
  // By name: connections have the address to which it resolves.
  const client = new MongoClient(mongo.url.replace('127.0.0.1', 'localhost'), { monitorCommands: true })
  t.teardown(() => client.close())
  let sent = 0
  client.on('commandStarted', ({ commandName }) => { if (commandName === 'insert') sent++ })
  let cleared = 0
  client.on('connectionPoolCleared', () => { cleared++ })
  await client.connect()
  const writer = new MongoWriter(client.db('plant_store').collection('plants'))
  t.teardown(() => writer.close())
  t.strictSame(await writer.write([{ ...FICUS, id: 2n }], soon()), ['stored'])
  // A read of the host's, on a connection whose id a connection to the primary has too.
  secondary.on('find', hang())
  client.db('garden').collection('beds').findOne({}, { readPreference: 'secondary' }).catch(() => {})
  await sleep(100)
  sent = 0
  mongo.on('insert', delay(2_000))
  const write = writer.write([FICUS], soon())
  await sleep(200)
  await secondary.stop()
  t.strictSame(await write, ['stored'])
  t.strictSame({ cleared, sent }, { cleared: 1, sent: 1 }, 'its pool of connections was cleared')
})

t.test('twelve stores share the listeners of one client', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = new MongoClient(mongo.url, { monitorCommands: true })
  t.teardown(() => client.close())
  const warnings: Error[] = []
  const note = (warning: Error) => { warnings.push(warning) }
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const stores = Array.from({ length: 12 }, () => mongoPlantStore({ client }))
  const createOn = (store: PlantStore, index: number) => store.create({ ...FICUS, id: BigInt(index) }, soon())
  const outcomes = await Promise.all(stores.map(createOn))
  t.strictSame(outcomes, stores.map(() => 'stored'))
  const events = ['commandStarted', 'connectionPoolCleared', 'connectionCheckedOut', 'connectionCheckedIn'] as const
  const listeners = () => events.map(event => client.listenerCount(event))
  for (const store of stores) await store.close?.()
  t.equal(await mongoPlantStore({ client }).create({ ...FICUS, id: 99n }, soon()), 'stored')
  t.strictSame(listeners(), [1, 1, 1, 1])
  t.strictSame(warnings, [])
})

t.test('whatever a host\'s database resolves to, a create ends, and its outcome is open', async t => {
  const client = new MongoClient('mongodb://127.0.0.1:1/', { monitorCommands: true })
  const errorsThatAreNone = { ok: 1, n: 1, writeErrors: [null] }
  for (const reply of [undefined, null, 'ok', errorsThatAreNone, { ok: 1, n: 0, writeErrors: 'none' }]) {
    const command = async (command: { comment: string }) => {
      client.emit('commandStarted', { command, connectionId: 1 } as unknown as CommandStartedEvent)
      return reply
    }
    const db = { client, command } as unknown as MongoCollection['db']
    const collection = { collectionName: 'plants', db, find: () => { throw new Error('not reached') } }
    const store = new BatchedPlantStore(new MongoWriter(collection))
    await t.rejects(store.create(FICUS, soon(200)), unknown(), JSON.stringify(reply))
    await store.close()
  }
})

t.test('a create whose insert never ends has its outcome, unknown, at the deadline', async t => {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ db: ownClientOn(t, mongo).clients[0]?.db('plant_store') as MongoCollection['db'] })
  mongo.on('insert', hang())
  await t.rejects(store.create(FICUS, soon(300)), unknown('MongoDB: no response in time'))
  await store.close?.()
})
