import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Long, MongoClient, MongoNetworkTimeoutError, MongoServerSelectionError, type Document, type TopologyDescription } from 'mongodb'
import t, { type Test } from 'tap'
import { connectionTo } from '../../../src/stores/mongo/mongo-connection.js'
import type { MongoCollection } from '../../../src/stores/mongo/mongo-driver.js'
import { connectionFault, wasSilent } from '../../../src/stores/mongo/mongo-errors.js'
import { mongoPlantStore, type MongoPlantStoreOptions } from '../../../src/stores/mongo/mongo-plant-store.js'
import { MongoWriter } from '../../../src/stores/mongo/mongo-writer.js'
import { PlantNotStored, PlantOutcomeUnknown, type NewPlant, type PlantStore } from '../../../src/stores/plant-store.js'
import { closedPort } from '../../support/process/lasting-port.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, closeWithinReply, hang, shardFailure,
  stepDown, unreplicated, writeConcernError, writeErrors
} from '../../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'

const soon = (ms = 10_000) => performance.now() + ms
const FICUS: NewPlant = { id: 1n, name: 'Ficus', tag: 'a tag that no message may contain' }

async function setUp (t: Test) {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ url: mongo.url }) as Required<PlantStore>
  t.teardown(() => store.close())
  await store.open()
  return { mongo, store }
}

async function connectClient (t: Test, mongo: ScriptedMongo, options = {}): Promise<MongoClient> {
  const client = new MongoClient(mongo.url, options)
  t.teardown(() => client.close())
  return await client.connect()
}

async function failure (store: Pick<PlantStore, 'create'>, ms = 1_500, plant = FICUS): Promise<Error> {
  return await store.create(plant, soon(ms)).then(outcome => new Error(`resolved: ${outcome}`), (error: Error) => error)
}

t.jobs = 4

t.test('a plant is written as { _id: Long, name, tag }, with majority write concern and journaling', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await connectClient(t, mongo, { monitorCommands: true })
  const commands: Document[] = []
  client.on('commandStarted', ({ commandName, command }) => { if (/insert|find/.test(commandName)) commands.push(command) })
  const store = mongoPlantStore({ client })
  await store.open?.()
  await Promise.all([store.create(FICUS, soon()), store.create({ id: 2n ** 63n - 1n, name: 'Fern' }, soon())])
  t.match(commands, [{ insert: 'plants', ordered: false, writeConcern: { w: 'majority', j: true }, $db: 'plant_store' }])
  t.equal(await store.create(FICUS, soon()), 'same')
  t.match(commands[2], { find: 'plants', filter: { _id: { $in: [1n] } }, readConcern: { level: 'majority' } }, 'only the plants with the same ids are read')

  const documents = await client.db('plant_store').collection<Document>('plants').find({}, { promoteLongs: false }).sort({ _id: 1 }).toArray()
  t.strictSame(documents.map(({ _id, ...rest }) => [_id instanceof Long, String(_id), rest]), [
    [true, '1', { name: FICUS.name, tag: FICUS.tag }], [true, '9223372036854775807', { name: 'Fern' }]
  ])
})

t.test('plants go to the given collection, database, client or URL, and a given client stays open', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await connectClient(t, mongo)
  const named = await connectClient(t, mongo)
  const places: [name: string, options: MongoPlantStoreOptions, database: string, collection: string][] = [
    ['collection', { collection: client.db('garden').collection('greens') }, 'garden', 'greens'],
    ['db', { db: client.db('forest') }, 'forest', 'plants'],
    ['db named test', { db: client.db('test') }, 'test', 'plants'],
    ['client', { client }, 'plant_store', 'plants'],
    ['url', { url: mongo.urlOf('jungle') }, 'jungle', 'plants'],
    ['url with the database test', { url: mongo.urlOf('test') }, 'test', 'plants'],
    ['url that ends with the database test', { url: mongo.urlOf('test').replace(/\?.*/, '') }, 'test', 'plants'],
    ['url without a database', { url: mongo.url }, 'plant_store', 'plants'],
    ['url with options', { url: mongo.urlOf('steppe').replace('?', '?serverSelectionTimeoutMS=3000&'), storeTimeout: 5_000 }, 'steppe', 'plants']
  ]
  for (const [place, [name, options, database, collection]] of places.entries()) {
    const store = mongoPlantStore(options)
    await store.open?.()
    t.equal(await store.create({ id: BigInt(place + 1), name: database }, soon()), 'stored', name)
    const plants = named.db(database).collection<Document>(collection)
    t.equal((await plants.findOne({ _id: Long.fromNumber(place + 1) } as Document))?.name, database, name)
    await store.close?.()
  }
  t.equal((await client.db('admin').command({ ping: 1 })).ok, 1, 'the client is not closed')
})

t.test('the driver\'s timeouts are derived from that of the store, unless the URL sets them', async t => {
  const client = connectionTo('mongodb://127.0.0.1/?connectTimeoutMS=7000&retryWrites=true', 10_000)
  t.match(client.options, {
    serverSelectionTimeoutMS: 2_000,
    connectTimeoutMS: 7_000,
    waitQueueTimeoutMS: 2_000,
    socketTimeoutMS: 5_000,
    retryWrites: true
  })
  t.match(connectionTo('mongodb://127.0.0.1', 10_000).options, { connectTimeoutMS: 2_000, retryWrites: false, appName: 'plant-store' })
})

t.test('a write by another store on the same client does not make an outcome uncertain', async t => {
  const client = Object.assign(new EventEmitter(), { options: { socketTimeoutMS: 0, monitorCommands: true } })
  function writer (command: (command: Document) => Promise<Document>): MongoWriter {
    return new MongoWriter({ collectionName: 'plants', db: { client, command } } as unknown as MongoCollection)
  }
  const failing = writer(async () => {
    client.emit('commandStarted', { commandName: 'insert', command: sent })
    throw new Error('it was not sent')
  })
  let sent: Document = {}
  await writer(async command => (sent = command)).write([FICUS], soon())
  const result = await failing.write([FICUS], soon())
  t.match(result, { name: PlantNotStored.name, message: /it was not sent/ })
})

t.test('invalid options throw immediately, with no credentials in the message', async t => {
  for (const options of [{}, { url: 12 }, { url: undefined }, undefined, null, 'mongodb://user:secret@localhost/']) {
    t.throws(() => mongoPlantStore(options as unknown as MongoPlantStoreOptions), { name: 'TypeError', message: /^mongoPlantStore: one of the options url, client, db and collection must be given$/ })
  }
  for (const url of ['', 'plants', 'http://localhost', 'mongodb://', 'mongodb://user:sec%ret@localhost/', 'mongodb://user:sec:ret@ret@localhost', 'mongodb://user:secret@localhost/?x=@y', 'mongodb://user:secret@localhost/?w=secret&retryWrites=5', 'mongodb://user:sec?ret@localhost', 'mongodb://user:secret@localhost/?compressors=se@cret']) {
    t.throws(() => mongoPlantStore({ url }), { name: 'TypeError' }, url)
    t.throws(() => mongoPlantStore({ url }), { message: /^((?!secret|sec[?@%:]|user).)*$/ }, url)
  }
})

t.test('the error of an unreachable server has its address and the actual cause, without credentials, and nothing is stored', async t => {
  const port = await closedPort()
  const store = mongoPlantStore({ url: `mongodb://user:secret@127.0.0.1:${port}/`, storeTimeout: 4_000 }) as Required<PlantStore>
  t.teardown(() => store.close())
  t.equal(await store.open(), true, 'the server may become reachable later')
  const error = await failure(store, 3_000)
  t.type(error, PlantNotStored)
  t.match(error.message, new RegExp(`^MongoDB is not reachable: .*ECONNREFUSED 127\\.0\\.0\\.1:${port}`))
  t.notMatch(error.message, /secret|user/)
  await t.rejects(store.ready(), { message: error.message })
})

t.test('if no connection is made by the deadline, the request rejects with PlantNotStored in time', async t => {
  const store = mongoPlantStore({ url: `mongodb://127.0.0.1:${await closedPort()}/?serverSelectionTimeoutMS=20000` })
  t.teardown(() => store.close?.())
  await store.open?.()
  const start = performance.now()
  t.type(await failure(store, 1_500), PlantNotStored)
  t.ok(performance.now() - start < 15_000)
})

t.test('a server that starts later is found', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const store = mongoPlantStore({ url: mongo.url, storeTimeout: 1_000 }) as Required<PlantStore>
  t.teardown(() => store.close())
  await store.open()
  await t.rejects(store.ready(), { message: /^MongoDB is not reachable/ })
  const create = store.create(FICUS, soon())
  await mongo.start()
  t.equal(await create, 'stored')
  await t.resolves(store.ready())
})

t.test('a closed store has removed its listeners from the client', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await connectClient(t, mongo, { monitorCommands: true })
  const store = mongoPlantStore({ client })
  t.equal(client.listenerCount('commandStarted'), 1)
  await store.close?.()
  t.equal(client.listenerCount('commandStarted'), 0)
})

t.test('a plant whose response is lost is retried', async t => {
  for (const cue of [closeAfterStoring(), closeWithinReply(), closeBeforeStoring()]) {
    const { mongo, store } = await setUp(t)
    mongo.on('insert', cue)
    t.match(await store.create(FICUS, soon()), /^(stored|same)$/)
    t.equal(mongo.majority().size, 1)
  }
})

t.test('a plant whose every response is lost may have been stored', async t => {
  const { mongo, store } = await setUp(t)
  mongo.on('insert', closeBeforeStoring(), { times: 100 })
  t.type(await failure(store), PlantOutcomeUnknown)
})

t.test('with a client that does not monitor commands, a broken connection leaves the outcome uncertain', async t => {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ client: await connectClient(t, mongo, { retryWrites: false }) })
  await store.open?.()
  mongo.on('insert', closeBeforeStoring(), { times: 100 })
  t.type(await failure(store), PlantOutcomeUnknown)
})

t.test('a write concern error leaves the outcome uncertain, as the plant may still be rolled back', async t => {
  const { mongo, store } = await setUp(t)
  mongo.on('insert', writeConcernError({ code: 64, message: 'waiting for replication timed out' }), { times: 100 })
  mongo.on('find', answer({ code: 11602 }), { times: 100 })
  const error = await failure(store)
  t.type(error, PlantOutcomeUnknown)
  t.equal(error.message, 'MongoDB: write concern error 64 (waiting for replication timed out)')
})

t.test('a transient write concern error is retried', async t => {
  const { mongo, store } = await setUp(t)
  mongo.on('insert', writeConcernError({ code: 91, majority: true }))
  t.equal(await store.create(FICUS, soon()), 'same')
  t.equal(mongo.majority().size, 1)
})

t.test('a plant that has not reached the majority does not count as stored', async t => {
  const { mongo, store } = await setUp(t)
  mongo.on('insert', unreplicated(), { times: 100 })
  t.type(await failure(store), PlantOutcomeUnknown)
  t.equal(mongo.majority().size, 0)
  mongo.clearCues()
  mongo.on('insert', () => ({ ok: 1, n: 0, writeErrors: [{ index: 0, code: 11000, errmsg: 'duplicate key' }] }), { times: 100 })
  t.type(await failure(store, 1_500, { id: 2n, name: 'Fern' }), PlantOutcomeUnknown, 'of a server that does not name the index')
})

t.test('the client\'s options for decoding responses make no difference', async t => {
  const mongo = await ScriptedMongo.start(t)
  const allSettings = [{}, { useBigInt64: true }, { promoteValues: false }, { promoteLongs: false }, { raw: true }]
  for (const [place, settings] of allSettings.entries()) {
    const store = mongoPlantStore({ client: await connectClient(t, mongo, settings) })
    const plant = { id: 2n ** 60n + BigInt(place), name: 'Ficus' }
    for (const [other, outcome] of [[plant, 'stored'], [plant, 'same'], [{ ...plant, name: 'Fern' }, 'taken']] as const) {
      t.equal(await store.create(other, soon()), outcome, JSON.stringify(settings))
    }
    mongo.on('insert', stepDown())
    t.equal(await store.create({ id: BigInt(place), name: 'Fern' }, soon()), 'stored', 'the driver reads the topology version in an error')
    await store.close?.()
  }
})

t.test('a plant whose id another program wrote as a double is found', async t => {
  const { mongo, store } = await setUp(t)
  const client = await connectClient(t, mongo)
  const id = 2n ** 62n
  await client.db('plant_store').collection<{ _id: number, name: string }>('plants').insertOne({ _id: Number(id), name: 'Ficus' })
  t.equal(await store.create({ id, name: 'Ficus' }, soon()), 'same')
  t.equal(await store.create({ id, name: 'Fern' }, soon()), 'taken')
})

t.test('plants that fail because of a shard, which mongos reports as write errors, are retried', async t => {
  const { mongo, store } = await setUp(t)
  mongo.on('insert', shardFailure({ from: 1, storedFirst: 1 }))
  const outcomes = await Promise.all([1n, 2n, 3n].map(id => store.create({ id, name: 'Ficus' }, soon())))
  t.strictSame(outcomes, ['stored', 'same', 'stored'], 'the failed ones were sent again')
  t.equal(mongo.majority().size, 3)
})

t.test('a refusal is final, and nothing is stored', async t => {
  for (const code of [13, 18, 121]) {
    const { mongo, store } = await setUp(t)
    mongo.on('insert', answer({ code, message: 'not authorized on plant_store' }))
    const error = await failure(store, 5_000)
    t.type(error, PlantNotStored, `command error ${code}`)
    t.match(error, { permanent: true, message: /not authorized on plant_store/ })

    mongo.on('find', (_context, execute) => {
      t.fail('no plant is there to be compared')
      return execute()
    })
    mongo.on('insert', writeErrors({ at: [0], code, message: `{ name: "${FICUS.name}", tag: "${FICUS.tag}" }` }))
    const ofOne = await failure(store, 5_000)
    t.type(ofOne, PlantNotStored, `write error ${code}`)
    t.match(ofOne, { permanent: true, message: `MongoDB: write error ${code}` })
    t.equal(mongo.plants().size, 0)
  }
})

t.test('a plant that another unique index refuses is not stored, immediately', async t => {
  const { mongo, store } = await setUp(t)
  mongo.on('insert', writeErrors({ at: [0], code: 11000, message: `dup key: { name: "${FICUS.name}" }` }), { times: 100 })
  const error = await failure(store, 60_000)
  t.type(error, PlantNotStored)
  t.match(error, { permanent: true, message: 'MongoDB: another unique index of the collection refuses it' })
})

t.test('a stored plant that another unique index refuses when it is sent again is the same plant', async t => {
  const { mongo, store } = await setUp(t)
  t.equal(await store.create(FICUS, soon()), 'stored')
  mongo.on('insert', writeErrors({ at: [0], code: 11000, message: `dup key: { name: "${FICUS.name}" }` }))
  t.equal(await store.create(FICUS, soon()), 'same')
})

t.test('the other plants of a batch are stored if one fails', async t => {
  const { mongo, store } = await setUp(t)
  mongo.on('insert', writeErrors({ at: [1], code: 121, message: 'no' }))
  const [first, second, third] = await Promise.allSettled([1n, 2n, 3n].map(id => store.create({ id, name: 'Ficus' }, soon())))
  t.match([first, third], [{ value: 'stored' }, { value: 'stored' }])
  t.match(second, { status: 'rejected', reason: PlantNotStored })
  t.strictSame([...mongo.majority().keys()], [1n, 3n])
})

t.test('a failed command leaves the outcome uncertain, unless it is labeled NoWritesPerformed', async t => {
  const { mongo, store } = await setUp(t)
  mongo.on('insert', answer({ code: 11602 }), { times: 100 })
  t.type(await failure(store), PlantOutcomeUnknown)
  mongo.clearCues()
  mongo.on('insert', answer({ code: 91, labels: ['NoWritesPerformed'] }), { times: 100 })
  t.type(await failure(store, 1_500, { id: 2n, name: 'Fern' }), PlantNotStored)
})

t.test('a duplicate that cannot be read leaves the outcome uncertain', async t => {
  const { mongo, store } = await setUp(t)
  t.equal(await store.create(FICUS, soon()), 'stored')
  mongo.on('find', answer({ code: 11602, message: 'interrupted' }), { times: 100 })
  const error = await failure(store)
  t.type(error, PlantOutcomeUnknown)
  t.equal(error.message, 'MongoDB: a plant with this id exists, but could not be read: MongoDB: interrupted')
  mongo.clearCues()
  t.equal(await store.create(FICUS, soon()), 'same')
})

t.test('a write error that is not a refusal leaves the outcome uncertain', async t => {
  const { mongo, store } = await setUp(t)
  mongo.on('insert', writeErrors({ at: [0], code: 2, message: 'bad value' }), { times: 100 })
  const error = await failure(store)
  t.type(error, PlantOutcomeUnknown)
  t.match(error.message, /^MongoDB: write error 2 \(bad value\)$/)
})

t.test('with a server that hangs, a request settles by its deadline', async t => {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ url: mongo.url, storeTimeout: 2_000 }) as Required<PlantStore>
  t.teardown(() => store.close())
  await store.open()
  await store.ready()
  mongo.on('insert', hang(), { times: 100 })
  const start = performance.now()
  t.type(await failure(store, 2_500), PlantOutcomeUnknown)
  t.ok(performance.now() - start < 15_000)
})

t.test('with a server that hangs, the store is not ready within seconds, even if the client has no timeout', async t => {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ client: await connectClient(t, mongo) })
  await store.ready?.()
  mongo.on('ping', hang())
  await t.rejects(Promise.race([store.ready?.(), sleep(20_000, undefined, { ref: false })]), /^MongoDB: /)
})

t.test('a silent MongoDB is distinguished from one that is known to be unreachable', async t => {
  const failed = (...servers: object[]) =>
    new MongoServerSelectionError('timed out', { servers: new Map(servers.map((server, place) => [place, server])) } as unknown as TopologyDescription)
  const silence = new MongoNetworkTimeoutError('connection timed out')
  const away = { error: new Error('connect ECONNREFUSED'), type: 'Unknown' }
  t.ok(wasSilent(silence))
  t.ok(wasSilent(Object.assign(new Error('no connection'), { name: 'MongoWaitQueueTimeoutError' })))
  t.notOk(wasSilent(new Error('socket hang up')))
  t.ok(wasSilent(failed(away, { error: silence, type: 'Unknown' })))
  t.ok(wasSilent(failed({ error: null, type: 'Unknown' })), 'no response even to the handshake')
  t.notOk(wasSilent(failed(away)))
  t.notOk(wasSilent(failed({ error: null, type: 'RSSecondary' })))
  t.notOk(wasSilent(failed()))
  const bare = failed(away)
  Object.defineProperty(bare, 'reason', { value: undefined })
  t.notOk(wasSilent(bare))
})

t.test('the reason why MongoDB is unreachable is one line', async t => {
  const failed = (servers: object[], message = 'Server selection timed out after 30000 ms') =>
    new MongoServerSelectionError(message, {
      servers: new Map(servers.map((server, place) => [place, server]))
    } as unknown as TopologyDescription)
  t.equal(connectionFault(new Error('socket hang up')), 'MongoDB: socket hang up')
  t.equal(connectionFault(failed([{ address: 'a:1', error: new Error('connect ECONNREFUSED a:1') }, { address: 'b:2', error: new Error('no route') }])),
    'MongoDB is not reachable: connect ECONNREFUSED a:1; b:2: no route')
  t.equal(connectionFault(failed([{ address: 'a:1', error: null, type: 'RSSecondary' }])), 'MongoDB is not reachable: a:1 is RSSecondary')
  t.equal(connectionFault(failed([])), 'MongoDB is not reachable: Server selection timed out after 30000 ms')
  const bare = failed([])
  Object.defineProperty(bare, 'reason', { value: undefined })
  t.equal(connectionFault(bare), 'MongoDB: Server selection timed out after 30000 ms')
})
