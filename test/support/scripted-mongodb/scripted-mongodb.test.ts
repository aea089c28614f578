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

interface PlantDocument { _id: Long, name: string }

const plant = (id: number): PlantDocument => ({ _id: Long.fromNumber(id), name: `plant ${id}` })

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
    return String(code ?? message).replace(/^.* (closed|timed out)$|^Server selection (timed out).*$/, '$1$2')
  }
}

async function setUp (t: Test, options: { as?: Kind } = {}, clientOptions: MongoClientOptions = {}) {
  const mongo = await ScriptedMongo.start(t, options)
  const client = new MongoClient(mongo.url, { serverSelectionTimeoutMS: 2000, retryWrites: false, ...clientOptions })
  t.teardown(async () => { await client.close() })
  await client.connect()
  const collection = client.db('plant_store').collection<PlantDocument>('plants', { promoteLongs: false })
  const insert = async (documents: PlantDocument[]) =>
    await outcome(collection.insertMany(documents, { ordered: false, writeConcern: { w: 'majority' } }))
  return { mongo, client, collection, insert }
}

t.jobs = 4

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

t.test('a stopped server keeps its documents, and executes nothing that was pending', async t => {
  const { mongo, insert } = await setUp(t, { as: 'standalone' })
  await insert([plant(1)])
  mongo.on('insert', delay(1_000))
  const late = insert([plant(2)])
  await sleep(100)
  await mongo.stop()
  t.equal(await late, 'closed')
  await mongo.start()
  await sleep(1_200)
  t.strictSame(ids(mongo.plants()), [1])
})

t.test('a primary that has stepped down refuses writes', async t => {
  const { mongo } = await setUp(t)
  const client = new MongoClient(`mongodb://${mongo.primary?.address}/?directConnection=true&retryWrites=false`)
  t.teardown(() => client.close())
  await client.connect()
  await mongo.stepDown()
  t.equal(await outcome(client.db('x').collection('plants').insertMany([{ name: 'x' }])), '10107')
})

t.test('unsupported filters and commands are refused: misreading them would falsify a test', async t => {
  const { collection, client } = await setUp(t)
  for (const filter of [{ name: 'plant 7' }, { _id: { $lt: Long.ONE } }]) await t.rejects(collection.findOne(filter), { code: 2 })
  await t.rejects(collection.countDocuments({ _id: Long.ONE }), { code: 2 })
  await t.rejects(client.db('x').command({ makeTea: 1 }), { code: 59 })
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
