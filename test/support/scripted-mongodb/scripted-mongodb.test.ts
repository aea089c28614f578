import { Long, MongoClient, type Document, type MongoClientOptions } from 'mongodb'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { until } from '../until.js'
import type { Cue } from './cue.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, closeWithinReply, delay, delayReply, hang, inOrder, loseReply,
  shardFailure, stepDown, unreplicated, writeConcernError, writeErrors
} from './cues.js'
import type { Kind } from './deployment.js'
import { ScriptedMongo } from './scripted-mongo.js'

interface PlantDocument { _id: Long, name: string, tag?: string }

const KINDS: Kind[] = ['standalone', 'replica set', 'mongos']
const EDGES = [-(2n ** 63n), -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 31n, 2n ** 53n + 1n, 2n ** 63n - 1n]

function plant (id: bigint | number, name = `plant ${id}`): PlantDocument {
  return { _id: Long.fromBigInt(BigInt(id)), name }
}

const plantsBelow = (count: number) => Array.from({ length: count }, (_, id) => plant(id))

const ids = (plants: Map<bigint, unknown>) => [...plants.keys()].map(Number)

/** The outcome that the driver reports, as short text for the tables below. */
async function outcome (insert: Promise<unknown>): Promise<string> {
  try {
    await insert
    return 'ok'
  } catch (error) {
    const { message, code, result } = error as Document
    if (result?.hasWriteErrors()) return `write errors ${result.getWriteErrors().map((one: Document) => `${one['index']}:${one['code']}`).join(' ')}`
    const concern = result?.getWriteConcernError()
    if (concern != null) return `write concern error ${concern.code}`
    // The driver wraps a network error in a MongoBulkWriteError, which keeps only its message.
    return String(code ?? message).replace(/^.* (closed|timed out)$|^connect (E\w+).*$|^Server selection (timed out).*$/, '$1$2$3')
  }
}

async function setUp (t: Test, options: { as?: Kind } = {}, clientOptions: MongoClientOptions = {}) {
  const mongo = await ScriptedMongo.start(t, options)
  const client = new MongoClient(mongo.url, { serverSelectionTimeoutMS: 2000, retryWrites: false, ...clientOptions })
  t.teardown(async () => { await client.close() })
  await client.connect()
  const collection = client.db('plant_store').collection<PlantDocument>('plants', { promoteLongs: false })
  const insert = async (documents: PlantDocument[], options = {}) =>
    await outcome(collection.insertMany(documents, { ordered: false, writeConcern: { w: 'majority' }, ...options }))
  /**
   * With retryable writes off, the driver reports a refusal or a closed connection, and then looks for the primary.
   */
  const insertAgain = async (document: PlantDocument) => {
    for (let turn = 0; turn < 20; turn++) if (await insert([document]) === 'ok') return 'ok'
    return await insert([document])
  }
  return { mongo, client, collection, insert, insertAgain }
}

t.jobs = 4

for (const as of KINDS) {
  t.test(`a ${as} stores the documents that the driver inserts, with exact ids over int64`, async t => {
    const { mongo, collection, insert } = await setUp(t, { as })
    t.equal(await insert(EDGES.map(id => plant(id))), 'ok')

    t.strictSame([...mongo.plants().keys()], EDGES)
    t.strictSame(mongo.majority(), mongo.plants())
    const found = await collection.find({ _id: { $in: EDGES.map(id => Long.fromBigInt(id)) } }, { readConcern: 'majority' }).toArray()
    t.strictSame(found.map(({ _id, name }) => [_id.toBigInt(), name]), EDGES.map(id => [id, `plant ${id}`]))
  })

  t.test(`a ${as} reports duplicates by index, and stores the other documents`, async t => {
    const { mongo, collection, insert } = await setUp(t, { as })
    await insert([plant(1)])
    t.equal(await insert([plant(0), plant(1, 'other'), plant(2), plant(0)]), 'write errors 1:11000 3:11000')
    t.equal(await insert([plant(3), plant(1), plant(4)], { ordered: true }), 'write errors 1:11000')
    t.strictSame(ids(mongo.plants()), [1, 0, 2, 3])
    t.equal(mongo.plants().get(1n)?.name, 'plant 1')
    const error = await collection.insertOne(plant(1)).catch(error => error)
    t.match(error, { code: 11000, keyPattern: { _id: 1 } })
    t.ok(error.keyValue._id.equals(1))
  })
}

t.test('results come in batches, and can be sorted, limited and counted; unsupported commands are refused', async t => {
  const { collection, insert, client } = await setUp(t)
  await insert(plantsBelow(250).reverse())
  const all = await collection.find({}, { batchSize: 40 }).sort({ _id: 1 }).toArray()
  t.strictSame(all.map(({ _id }) => Number(_id)), plantsBelow(250).map(({ _id }) => Number(_id)))
  t.equal(await collection.countDocuments(), 250)
  t.equal((await collection.findOne({ _id: Long.fromNumber(7) }))?.name, 'plant 7')
  t.equal(await collection.findOne({ _id: Long.fromNumber(777) }), null)
  t.equal(await collection.estimatedDocumentCount(), 250)
  t.equal((await collection.find({ _id: { $gt: Long.fromNumber(200) } }).toArray()).length, 49)
  const range = collection.find({ _id: { $gt: Long.fromNumber(10), $lte: Long.fromNumber(13) } }).sort({ _id: -1 })
  t.strictSame((await range.limit(2).toArray()).map(({ _id }) => Number(_id)), [13, 12])
  t.equal((await collection.find({ $nor: [{ _id: { $gte: Long.fromNumber(200) } }] }).toArray()).length, 200)
  for (const filter of [{ name: 'plant 7' }, { _id: { $lt: Long.ONE } }]) await t.rejects(collection.findOne(filter), { code: 2 })
  await t.rejects(collection.countDocuments({ _id: Long.ONE }), { code: 2 })
  await t.rejects(client.db('x').command({ makeTea: 1 }), { code: 59 })
})

/**
 * Cues for one unordered insert of five plants, 0 to 4, with `w: majority` and without the driver's own retries: what
 * the driver reports, what is stored, and which part of that no rollback can remove.
 */
const scenarios: Array<{ cue: Cue, reports: string, stored: number[], majority?: number[], as?: Kind }> = [
  { cue: delay(50), reports: 'ok', stored: [0, 1, 2, 3, 4] },
  { cue: delayReply(50), reports: 'ok', stored: [0, 1, 2, 3, 4] },
  { cue: delayReply(1_500), reports: 'timed out', stored: [0, 1, 2, 3, 4] },
  { cue: unreplicated(), reports: 'write concern error 64', stored: [0, 1, 2, 3, 4], majority: [] },
  { cue: hang(), reports: 'timed out', stored: [] },
  { cue: loseReply(), reports: 'timed out', stored: [0, 1, 2, 3, 4] },
  { cue: closeBeforeStoring(), reports: 'closed', stored: [] },
  { cue: closeAfterStoring(), reports: 'closed', stored: [0, 1, 2, 3, 4] },
  { cue: closeWithinReply(), reports: 'closed', stored: [0, 1, 2, 3, 4] },
  { cue: inOrder(unreplicated(), closeAfterStoring()), reports: 'closed', stored: [0, 1, 2, 3, 4], majority: [] },
  { cue: answer({ code: 13 }), reports: '13', stored: [] },
  { cue: answer({ code: 11600, stored: true, labels: ['RetryableWriteError'] }), reports: '11600', stored: [0, 1, 2, 3, 4] },
  { cue: answer({ code: 91, stored: true, replicated: false }), reports: '91', stored: [0, 1, 2, 3, 4], majority: [] },
  { cue: writeErrors({ at: [0, 2], code: 14031 }), reports: 'write errors 0:14031 2:14031', stored: [1, 3, 4] },
  { cue: writeErrors({ at: [4], code: 112, stored: true }), reports: 'write errors 4:112', stored: [0, 1, 2, 3, 4] },
  { cue: writeConcernError({ code: 64 }), reports: 'write concern error 64', stored: [0, 1, 2, 3, 4], majority: [] },
  { cue: writeConcernError({ code: 64, majority: true }), reports: 'write concern error 64', stored: [0, 1, 2, 3, 4] },
  { cue: shardFailure(), reports: 'write errors 0:6 1:6 2:6 3:6 4:6', stored: [], as: 'mongos' },
  { cue: shardFailure({ code: 89, from: 2, storedFirst: 1 }), reports: 'write errors 2:89 3:89 4:89', stored: [0, 1, 2], as: 'mongos' },
  { cue: stepDown(), reports: '11602', stored: [] },
  { cue: stepDown({ stored: true }), reports: '11602', stored: [0, 1, 2, 3, 4] },
  { cue: stepDown({ stored: true, rollBack: true }), reports: '11602', stored: [] },
  { cue: stepDown({ stored: true, closeConnections: true }), reports: 'closed', stored: [0, 1, 2, 3, 4] }
]

for (const [row, { cue, as = 'replica set', reports, stored, majority = stored }] of scenarios.entries()) {
  t.test(`scenario ${row + 1}: ${reports}, ${stored.length} stored, ${majority.length} on the majority`, async t => {
    const { mongo, insert } = await setUp(t, { as }, { socketTimeoutMS: 1_000 })
    mongo.on('insert', cue)
    t.equal(await insert(plantsBelow(5)), reports)
    if (mongo.primary === undefined) await mongo.stepDown() // waits for the pending election
    t.strictSame(ids(mongo.plants()), stored)
    t.strictSame(ids(mongo.majority()), majority)
    const missing = plantsBelow(6).filter(({ _id }) => !mongo.plants().has(_id.toBigInt()))
    t.equal(await insert(missing), 'ok', 'the next insert has no cue')
    t.strictSame(ids(mongo.majority()).sort(), [0, 1, 2, 3, 4, 5], 'a majority write also commits earlier writes')
  })
}

t.test('a cursor returns documents inserted ahead of its position, and no document twice', async t => {
  const { collection, insert } = await setUp(t)
  await insert([0, 2, 4].map(id => plant(id)))
  const cursor = collection.find({}, { batchSize: 2 }).sort({ _id: 1 })
  t.equal(Number((await cursor.next())?._id), 0)
  await insert([1, 3, 5].map(id => plant(id)))
  t.strictSame((await cursor.toArray()).map(({ _id }) => Number(_id)), [2, 3, 4, 5])
})

t.test('cues for a command are played in order, each as often as given', async t => {
  const { mongo, collection, insert } = await setUp(t)
  mongo.on('insert', answer({ code: 1 })).on('insert', answer({ code: 8000 }), { times: 2 }).on('find', answer({ code: 13 }))
  for (const reported of ['1', '8000', '8000', 'ok']) t.equal(await insert([plant(1)]), reported)
  await t.rejects(collection.findOne({}), { code: 13 })
  mongo.on('insert', hang()).clearCues()
  t.equal(await insert([plant(2)]), 'ok')
})

t.test('in a failover the old primary refuses writes, another is elected, and the driver finds it', async t => {
  const { mongo, insertAgain, client } = await setUp(t)
  const old = mongo.primary
  const direct = new MongoClient(`mongodb://${old?.address}/?directConnection=true&retryWrites=false`)
  t.teardown(async () => { await direct.close() })
  await direct.connect()
  const elected = mongo.stepDown({ electAfter: 400 })
  t.equal(mongo.primary, undefined)
  t.equal(await outcome(direct.db('x').collection('plants').insertMany([{ name: 'x' }])), '10107')
  await elected
  t.not(mongo.primary, old)
  const began = performance.now()
  for (let turn = 0; turn < 4; turn++) {
    t.equal(await insertAgain(plant(turn)), 'ok')
    await mongo.stepDown({ electAfter: 20, closeConnections: true })
  }
  t.equal(await insertAgain(plant(4)), 'ok')
  t.ok(performance.now() - began < 9_000, 'without waiting for a heartbeat, which is sent every 10 s')
  t.match(await client.db('admin').command({ hello: 1 }), { isWritablePrimary: true, me: mongo.primary!.address, setVersion: 1 })
  const standalone = await ScriptedMongo.start(t, { as: 'standalone' })
  await t.rejects(standalone.stepDown(), /no primary to step down/)
  t.throws(() => standalone.elect(), /elects no primary/)
})

t.test('a primary that dies or hangs is replaced, and returns as a secondary', async t => {
  const timeouts = { socketTimeoutMS: 1_000, heartbeatFrequencyMS: 500, connectTimeoutMS: 1_000 }
  const { mongo, insertAgain } = await setUp(t, {}, timeouts)
  const dead = mongo.primary!
  await dead.stop()
  mongo.elect()
  t.equal(await insertAgain(plant(1)), 'ok')
  const hung = mongo.primary!
  hung.hang()
  mongo.elect()
  t.equal(await insertAgain(plant(2)), 'ok')
  hung.resume()
  await dead.start()
  t.equal(await insertAgain(plant(3)), 'ok')
  t.equal([dead, hung, mongo.primary].filter(member => member?.isPrimary).length, 1)
  for (const member of mongo.members) if (member !== mongo.primary) await member.stop()
  t.throws(() => mongo.elect(), /no member is left/)

  const waiting = mongo.stepDown()
  await mongo.start()
  await waiting
  t.ok(mongo.primary, 'an election waits for an electable member')
  const late = mongo.stepDown({ electAfter: 100 })
  mongo.elect()
  const { primary } = mongo
  await late
  t.equal(mongo.primary, primary, 'an election ends once there is a primary')
})

t.test('documents that are not majority-committed are visible to local reads only, and are removed by a rollback', async t => {
  const { mongo, insert, collection } = await setUp(t)
  await insert([plant(1)])
  mongo.pauseReplication()
  t.equal(await insert([plant(2)], { writeConcern: { w: 1 } }), 'ok')
  const read = async (options: object) => (await collection.find({}, options).toArray()).map(({ _id }) => Number(_id))
  t.strictSame(await read({ readConcern: 'local' }), [1, 2])
  t.strictSame(await read({ readConcern: 'majority' }), [1])
  t.strictSame(await read({ readPreference: 'secondary' }), [1])
  mongo.rollBack()
  t.strictSame(ids(mongo.plants()), [1])
  t.strictSame(ids(mongo.majority()), [1])

  const lost = insert([plant(4)], { ordered: true })
  await until(() => mongo.plants().has(4n))
  mongo.rollBack()
  t.equal(await lost, 'write concern error 189', 'a waiting write is not acknowledged')

  const waiting = insert([plant(2)])
  await sleep(50)
  t.strictSame(ids(mongo.majority()), [1])
  mongo.resumeReplication()
  t.equal(await waiting, 'ok')
  t.strictSame(ids(mongo.majority()), [1, 2])
})

t.test('a step-down leaves the outcome of a write that waits for the majority uncertain', async t => {
  const { mongo, insert } = await setUp(t)
  mongo.pauseReplication()
  const waiting = insert([plant(1)])
  await until(() => mongo.plants().has(1n))
  await mongo.stepDown({ rollBack: true })
  t.equal(await waiting, 'write concern error 189')
  t.equal(mongo.plants().size, 0)
})

t.test('a hung server answers nothing, not even heartbeats, and executes its requests later', async t => {
  const { mongo, insert } = await setUp(t, { as: 'standalone' }, {
    socketTimeoutMS: 1_000, heartbeatFrequencyMS: 500, connectTimeoutMS: 1_000
  })
  mongo.hang()
  t.equal(await insert([plant(1)]), 'timed out')
  t.equal(mongo.plants().size, 0)
  mongo.resume()
  await until(() => mongo.plants().size > 0)
  t.strictSame(ids(mongo.plants()), [1], 'although the client has disconnected')

  mongo.hang()
  t.equal(await insert([plant(2)]), 'timed out')
  mongo.resume({ forget: true })
  await sleep(20)
  t.strictSame(ids(mongo.plants()), [1])
  // The driver interrupts pending operations when the dropped heartbeat times out.
  let id = 3
  while (id < 50 && await insert([plant(id)]) !== 'ok') id++
  t.ok(id < 50, 'the server answers again')
})

t.test('a stopped server refuses connections, and restarts on the same port with its documents', async t => {
  const { mongo, insert, insertAgain, collection } = await setUp(t, { as: 'standalone' }, { serverSelectionTimeoutMS: 1_000 })
  const { url } = mongo
  await insert([plant(1)])
  mongo.on('insert', delay(1_000))
  const late = insert([plant(2)])
  await sleep(100)
  await mongo.stop()
  t.equal(await late, 'closed')
  t.equal(await insert([plant(2)]), 'ECONNREFUSED')
  await mongo.start()
  await mongo.start()
  t.equal(mongo.url, url)
  await sleep(1_200)
  t.strictSame(ids(mongo.plants()), [1], 'a dead process executes nothing later')
  t.equal(await insert([plant(3)]), 'ok')
  t.equal((await collection.find().toArray()).length, 2)
  mongo.disconnect()
  t.equal(await insertAgain(plant(4)), 'ok')
})

t.test('every answer can be delayed', async t => {
  const { mongo, insert } = await setUp(t, { as: 'mongos' })
  mongo.delayAnswers(150)
  const began = performance.now()
  t.equal(await insert([plant(1)]), 'ok')
  t.ok(performance.now() - began >= 149)
})

t.test('the command prints its URL first and exits with its parent', async t => {
  const main = fileURLToPath(new URL('main.js', import.meta.url))
  for (const end of ['SIGTERM', 'stdin'] as const) {
    const child = spawn(process.execPath, [main], {
      stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, _TAPJS_PROCESSINFO_COVERAGE_: '0' }
    })
    const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
    const client = new MongoClient(String(line).trim())
    t.match(await client.db('admin').command({ hello: 1 }), { isWritablePrimary: true })
    await client.close()
    if (end === 'stdin') child.stdin.end()
    else child.kill(end)
    t.strictSame(await once(child, 'exit'), [0, null], end)
  }
})
