import { spawnSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Long, MongoClient, type Document } from 'mongodb'
import t, { type Test } from 'tap'
import { connectionTo } from '../../../src/stores/mongo/mongo-driver.js'
import { mongoPlantStore, type MongoPlantStoreOptions } from '../../../src/stores/mongo/mongo-plant-store.js'
import { MongoWriter } from '../../../src/stores/mongo/mongo-writer.js'
import type { NewPlant } from '../../../src/plant.js'
import { PlantNotStored, type PlantStore } from '../../../src/stores/store.js'
import { closedPort } from '../../support/process/lasting-port.js'
import { needs } from '../../support/process/needs.js'
import { compiledPackage, projectFile, testFolder } from '../../support/process/program.js'
import { answer, closeBeforeStoring, writeErrors } from '../../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'
import { missingServer, mongodb, startServer } from '../../support/stores/mongodb-for-tests.js'
import { mongoPlace, scriptedPlace, storeContract } from '../../support/stores/places.js'

t.jobs = 4

const soon = (ms = 10_000) => performance.now() + ms
const FICUS: NewPlant = { id: 1n, name: 'Ficus', tag: 'evergreen' }

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

const { missing } = await mongodb()
t.test('on a scripted MongoDB, the store fulfills the contract', async t => storeContract(t, scriptedPlace))
t.test('on a real MongoDB, the store fulfills the contract', needs(missing), async t => storeContract(t, mongoPlace))

t.test('a plant is written as { _id: Long, name, tag }, with majority write concern and journaling', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await connectClient(t, mongo, { monitorCommands: true })
  const commands: Document[] = []
  client.on('commandStarted', ({ commandName, command }) => {
    if (/insert|find/.test(commandName)) commands.push(command)
  })
  const store = mongoPlantStore({ client })
  await store.open?.()
  await Promise.all([store.create(FICUS, soon()), store.create({ id: 2n ** 63n - 1n, name: 'Fern' }, soon())])
  const insert = { insert: 'plants', ordered: false, writeConcern: { w: 'majority', j: true }, $db: 'plant_store' }
  t.match(commands, [insert])
  t.equal(await store.create(FICUS, soon()), 'same')
  const find = { find: 'plants', filter: { _id: { $in: [1n] } }, readConcern: { level: 'majority' } }
  t.match(commands[2], find, 'only the plants with the same ids are read')

  const plants = client.db('plant_store').collection<Document>('plants')
  const documents = await plants.find({}, { promoteLongs: false }).sort({ _id: 1 }).toArray()
  t.strictSame(documents.map(({ _id, ...rest }) => [_id instanceof Long, String(_id), rest]), [
    [true, '1', { name: FICUS.name, tag: FICUS.tag }], [true, '9223372036854775807', { name: 'Fern' }]
  ])
})

t.test('plants go to the given collection, database, client or URL, and a given client stays open', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await connectClient(t, mongo)
  const places: [name: string, options: MongoPlantStoreOptions, database: string, collection: string][] = [
    ['collection', { collection: client.db('garden').collection('greens') }, 'garden', 'greens'],
    ['db', { db: client.db('forest') }, 'forest', 'plants'],
    ['db named test', { db: client.db('test') }, 'test', 'plants'],
    ['client', { client }, 'plant_store', 'plants'],
    ['url', { url: mongo.urlOf('jungle') }, 'jungle', 'plants'],
    ['url with the database test', { url: mongo.urlOf('test') }, 'test', 'plants'],
    ['url that ends with the database test', { url: mongo.urlOf('test').replace(/\?.*/, '') }, 'test', 'plants'],
    ['url without a database', { url: mongo.url }, 'plant_store', 'plants'],
    ['url with options', {
      url: mongo.urlOf('steppe').replace('?', '?serverSelectionTimeoutMS=3000&'), storeTimeout: 5_000
    }, 'steppe', 'plants']
  ]
  for (const [index, [name, options, database, collection]] of places.entries()) {
    const store = mongoPlantStore(options)
    await store.open?.()
    t.equal(await store.create({ id: BigInt(index + 1), name: database }, soon()), 'stored', name)
    const plants = client.db(database).collection<Document>(collection)
    t.equal((await plants.findOne({ _id: Long.fromNumber(index + 1) } as Document))?.name, database, name)
    await store.close?.()
  }
  t.equal((await client.db('admin').command({ ping: 1 })).ok, 1, 'the client is not closed')
})

t.test('a wrong option is named immediately', async t => {
  const client = new MongoClient('mongodb://127.0.0.1:1/')
  const one = 'one of the options url, client, db and collection must be given'
  const cases: [options: unknown, fault: string][] = [
    [undefined, one], [null, one], ['mongodb://user:secret@localhost/', one], [{}, one], [{ url: undefined }, one],
    [{ storeTimeout: 5_000 }, one], [{ client, url: 'mongodb://127.0.0.1/' }, one],
    [{ uri: 'mongodb://user:secret@localhost/' }, 'there is no option uri'],
    [{ url: 12 }, 'the option url must be a string, such as mongodb://127.0.0.1:27017/garden'],
    [{ url: 'foo' }, 'the option url cannot be used: Invalid scheme, expected connection string to start with ' +
      '"mongodb://" or "mongodb+srv://"'],
    [{ client: 'mongodb://user:secret@localhost/' }, 'the option client must be a MongoClient'],
    [{ client: null }, 'the option client must be a MongoClient'],
    [{ client: Promise.resolve(client) }, 'the option client must be a MongoClient, not a promise of one: await it'],
    [{ db: client }, 'the option db must be a Db'],
    [{ db: Promise.resolve() }, 'the option db must be a Db, not a promise of one: await it'],
    [{ collection: client.db() }, 'the option collection must be a Collection'],
    [{ url: 'mongodb://127.0.0.1/', storeTimeout: '10s' },
      'the option storeTimeout must be an integer of 500 or more']
  ]
  for (const [options, fault] of cases) {
    t.throws(() => mongoPlantStore(options as MongoPlantStoreOptions), {
      name: 'TypeError', message: `mongoPlantStore: ${fault}`
    })
  }
})

t.test('a URL that cannot be used is refused without its credentials, and says what to escape', async t => {
  const escape = /the URL cannot be read; .*percent-encode .* \(@ is %40/
  const urls: [url: string, reason?: RegExp][] = [
    [''],
    ['plants'],
    ['http://localhost'],
    ['mongodb://'],
    ['mongodb://localhost/?w=secret&retryWrites=5', /must be either/],
    ['mongodb://user:secret', escape],
    ['mongodb://user:sec%ret@localhost/', escape],
    ['mongodb://user:sec@ret@localhost/', escape],
    ['mongodb://user:sec/ret@localhost/', escape],
    ['mongodb://us/er:secret@localhost/', escape],
    ['mongodb://user:sec:ret@ret@localhost', escape],
    ['mongodb://user:secret@localhost/?x=@y', escape],
    ['mongodb://user:secret@localhost/?w=secret&retryWrites=5', /must be either/],
    ['mongodb://user:sec?ret@localhost', escape],
    ['mongodb://user@example.org:12?secret&34@localhost/', escape],
    ['mongodb://user@example.org:12?secret=34@localhost/', escape],
    ['mongodb://user:secret@localhost/?compressors=se@cret', escape]
  ]
  for (const [url, reason = /Invalid scheme|required/] of urls) {
    t.throws(() => mongoPlantStore({ url }), { name: 'TypeError', message: reason }, url)
    t.throws(() => mongoPlantStore({ url }), { message: /^((?!secret|sec[?@%:/]|us\/er|user:s).)*$/ }, url)
  }
})

t.test('an unreachable server\'s error has its address and the cause, no credentials; nothing is stored', async t => {
  const port = await closedPort()
  const store = mongoPlantStore({
    url: `mongodb://user:secret@127.0.0.1:${port}/`, storeTimeout: 4_000
  }) as Required<PlantStore>
  t.teardown(() => store.close())
  t.equal(await store.open(), true, 'the server may become reachable later')
  const error = await failure(store, 3_000)
  t.type(error, PlantNotStored)
  t.equal(error.message, `MongoDB: connect ECONNREFUSED 127.0.0.1:${port}`)
  t.notMatch(error.message, /secret|user/)
  await t.rejects(store.ready(), { message: error.message })
})

t.test('a server that starts later is found', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const store = mongoPlantStore({ url: mongo.url, storeTimeout: 1_000 }) as Required<PlantStore>
  t.teardown(() => store.close())
  await store.open()
  await t.rejects(store.ready(), { message: /^MongoDB: connect ECONNREFUSED/ })
  const create = store.create(FICUS, soon())
  await mongo.start()
  t.equal(await create, 'stored')
  await t.resolves(store.ready())
})

/**
 * The sockets of a store's client, to destroy one when it is next written to: Node emits `close` only later, and until
 * then the driver takes it for open.
 */
function socketsOf (t: Test, mongo: ScriptedMongo): { closeAtWrite: (index: number) => void } {
  const sockets: Socket[] = []
  const note = (message: unknown) => { sockets.push((message as { socket: Socket }).socket) }
  subscribe('net.client.socket', note)
  t.teardown(() => unsubscribe('net.client.socket', note))
  const closeAtWrite = (index: number) => {
    const socket = sockets.filter(({ remotePort }) => mongo.url.includes(`:${remotePort}/`))[index] as Socket
    socket.write = (...written: unknown[]) => {
      socket.destroy()
      return Reflect.apply(Socket.prototype.write, socket, written)
    }
  }
  return { closeAtWrite }
}

t.test('a server is found again, although its connections closed just when the driver looked for it', async t => {
  const mongo = await ScriptedMongo.start(t, { as: 'standalone', isPolled: true })
  const { closeAtWrite } = socketsOf(t, mongo)
  const store = mongoPlantStore({ url: `${mongo.url}?heartbeatFrequencyMS=500`, storeTimeout: 2_000 })
  t.teardown(() => store.close?.())
  await store.create(FICUS, soon())
  closeAtWrite(0) // the monitor's
  await sleep(700)
  mongo.on('insert', closeBeforeStoring())
  t.equal(await store.create({ ...FICUS, id: 2n }, soon(5_000)), 'stored')
})

t.test('an insert whose connection closes as it is sent is sent again', async t => {
  const mongo = await ScriptedMongo.start(t, { as: 'standalone', isPolled: true })
  const { closeAtWrite } = socketsOf(t, mongo)
  const store = mongoPlantStore({ url: mongo.url, storeTimeout: 1_000 })
  t.teardown(() => store.close?.())
  await store.create(FICUS, soon())
  closeAtWrite(1) // that of the pool
  t.equal(await store.create({ ...FICUS, id: 2n }, soon(2_000)), 'stored')
})

t.test('while every insert is refused the store is not ready, and says why without the plant', async t => {
  const { mongo, store } = await setUp(t)
  const refusal = { code: 8000, codeName: 'AtlasError', message: `you are over your space quota: ${FICUS.name}` }
  for (const command of ['insert', 'update']) mongo.on(command, answer(refusal), { times: 1_000 })
  const begun = performance.now()
  t.match(await failure(store, 10_000), {
    name: 'PlantNotStored', permanent: true, message: 'MongoDB: error 8000 (AtlasError)'
  })
  t.ok(performance.now() - begun < 1_000)
  for (const wait of [0, 1_200]) {
    await sleep(wait)
    await t.rejects(store.ready(), { message: 'MongoDB: error 8000 (AtlasError)' })
  }
  mongo.clearCues()
  await t.resolves(store.ready())
  mongo.on('insert', writeErrors({ at: [0], ...refusal }))
  t.match(await failure(store), { name: 'PlantNotStored', message: 'MongoDB: write error 8000 (AtlasError)' })
  await t.rejects(store.ready(), { message: 'MongoDB: write error 8000 (AtlasError)' })
})

t.test('only users who may write can; validators and indexes refuse single plants', needs(missingServer), async t => {
  const server = await startServer(t)
  const admin = new MongoClient(`mongodb://${server.host}/`)
  const database = admin.db('plant_store')
  await database.createCollection('plants', { validator: { name: { $ne: 'Fern' } } })
  await database.collection('plants').createIndex({ tag: 1 }, { unique: true, sparse: true })
  for (const role of ['read', 'readWrite']) {
    await admin.db('admin').command({ createUser: role, pwd: 'secret', roles: [{ role, db: 'plant_store' }] })
  }
  await admin.close()
  await server.requireUsers()
  const writerOf = (credentials: string): MongoWriter => {
    const url = `mongodb://${credentials}${server.host}/?authSource=admin`
    const connect = () => connectionTo(url, 5_000).db('plant_store').collection('plants')
    const writer = new MongoWriter(connect(), connect)
    t.teardown(() => writer.close())
    return writer
  }
  for (const [credentials, code] of [['', 13], ['read:secret@', 13], ['readWrite:wrong@', 18]] as const) {
    const writer = writerOf(credentials)
    const message = new RegExp(`^MongoDB: error ${code} \\(\\w+\\)$`)
    await t.rejects(writer.check(true), { message }, credentials)
    t.match(await writer.write([FICUS], soon()), { name: 'PlantNotStored', permanent: true, message })
  }
  const writer = writerOf('readWrite:secret@')
  await t.resolves(writer.check(true))
  const plants = [FICUS, { id: 2n, name: 'Fern' }, { ...FICUS, id: 3n }, { id: 4n, name: 'Monstera' }]
  t.match(await writer.write(plants, soon()), [
    'stored',
    { permanent: true, message: /write error 121/ },
    { permanent: true, message: /another unique index/ },
    'stored'
  ])
})

/** The package and all that it needs but mongodb, outside of the project's folder, in which it would be found. */
function packageWithoutDriver (t: Test): string {
  const folder = testFolder(t)
  cpSync(join(compiledPackage, 'src'), join(folder, 'dist'), { recursive: true })
  cpSync(join(compiledPackage, 'package.json'), join(folder, 'package.json'))
  mkdirSync(join(folder, 'node_modules'))
  for (const name of readdirSync(projectFile('node_modules'))) {
    if (name !== 'mongodb') symlinkSync(projectFile(join('node_modules', name)), join(folder, 'node_modules', name))
  }
  return join(folder, 'dist')
}

t.test('without the package mongodb, commands and stores say in one line what to install', async t => {
  const missing = 'the package mongodb is not installed: run npm install mongodb'
  const dist = packageWithoutDriver(t)
  const url = 'mongodb://127.0.0.1:1/'
  const { mongoPlantStore } = await import(pathToFileURL(join(dist, 'stores/mongo/mongo-plant-store.js')).href)
  t.throws(() => mongoPlantStore({ url }), { message: missing })
  const stderr = `plant-store: MONGODB_URL cannot be used: ${missing}\n`
  // The others load the driver as `serve` does.
  for (const command of ['serve', 'export']) {
    const env = { PATH: process.env.PATH, MONGODB_URL: url, ACCESS_TOKENS: 'a-token-for-the-tests' }
    const args = [join(dist, 'service/main.js'), command]
    const ended = spawnSync(process.execPath, args, { env, encoding: 'utf8', input: '', timeout: 60_000 })
    t.match(ended, { status: 1, stdout: '', stderr }, command)
    t.equal(ended.stderr, stderr, 'in one line')
  }
})
