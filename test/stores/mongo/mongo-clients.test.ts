import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient, type CommandStartedEvent } from 'mongodb'
import t from 'tap'
import { BatchedPlantStore } from '../../../src/stores/batching/batched-plant-store.js'
import type { MongoCollection } from '../../../src/stores/mongo/mongo-driver.js'
import { mongoPlantStore } from '../../../src/stores/mongo/mongo-plant-store.js'
import { MongoWriter } from '../../../src/stores/mongo/mongo-writer.js'
import type { NewPlant, PlantStore } from '../../../src/stores/plant-store.js'
import { answer, closeBeforeStoring, delay, hang, type Cue } from '../../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'
import { VirtualClock } from '../../support/virtual-clock.js'
import { ownClientOn, ownDriver, writerOn } from './writers.js'

t.jobs = 4

const FICUS: NewPlant = { id: 1n, name: 'Ficus' }
const soon = (ms = 60_000) => performance.now() + ms
const unknown = { name: 'PlantOutcomeUnknown' }
const unreachable = { message: /^MongoDB is not reachable: 127.*ECONNREFUSED/ }

t.test('a thorough check does what a write needs, and changes nothing', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo)
  const unauthorized = answer({ code: 13, codeName: 'Unauthorized', message: 'a message that is not shown' })
  const blocked: Cue = () => ({ ok: 1, n: 0, writeErrors: [{ index: 0, code: 371, errmsg: 'blocked' }] })
  const mayInsert = (collection: string): Cue => () => {
    const privilege = { actions: ['find', 'insert'], resource: { db: 'plant_store', collection } }
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

t.test('a client whose first connection fails only after its command was given up is replaced, too', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const { writer, clients } = ownClientOn(t, mongo, { serverSelectionTimeoutMS: 500 })
  t.match(await writer.write([FICUS], soon(150)), { name: 'PlantNotStored', ...unreachable })
  await mongo.start()
  await t.resolves(writer.check(false))
  t.equal(clients.length, 2)
})

t.test('with a client that does not monitor commands, a broken connection leaves the outcome unknown', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo, ownDriver, { monitorCommands: false })
  mongo.on('insert', closeBeforeStoring())
  t.match(await writer.write([FICUS], soon()), unknown)
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
    await t.rejects(store.create(FICUS, soon(200)), unknown, JSON.stringify(reply))
    await store.close()
  }
})

t.test('a create whose insert never ends has its outcome, unknown, at the deadline', async t => {
  const mongo = await ScriptedMongo.start(t)
  const store = mongoPlantStore({ db: ownClientOn(t, mongo).clients[0]?.db('plant_store') as MongoCollection['db'] })
  mongo.on('insert', hang())
  await t.rejects(store.create(FICUS, soon(300)), { ...unknown, message: 'MongoDB: no response in time' })
  await store.close?.()
})
