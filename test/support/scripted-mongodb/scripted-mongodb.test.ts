import { Long, MongoClient, type Document } from 'mongodb'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../until.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, delay, delayReply, hang, loseReply, stepDown,
  writeConcernError, writeErrors, type Cue
} from './cues.js'
import { ScriptedMongo, type Kind } from './scripted-mongo.js'

const plants = (...ids: number[]) => ids.map(id => ({ _id: Long.fromNumber(id), name: `plant ${id}` }))
const ids = (stored: Map<bigint, unknown>) => [...stored.keys()].map(Number).sort()

/** What the driver reports of a failure, as short text. */
function reported ({ message, code, result }: Document): string {
  if (result?.hasWriteErrors()) return `write errors ${result.getWriteErrors().map((one: Document) => `${one['index']}:${one['code']}`).join(' ')}`
  const concern = result?.getWriteConcernError()
  if (concern != null) return `write concern error ${concern.code}`
  // The driver wraps a network error in a MongoBulkWriteError, which keeps only its message.
  return String(code ?? message).replace(/^.* (closed|timed out)$/, '$1')
}

async function setUp (t: Test, as: Kind = 'replica set') {
  const mongo = await ScriptedMongo.start(t, { as })
  const timeouts = { serverSelectionTimeoutMS: 2_000, socketTimeoutMS: 1_000, connectTimeoutMS: 1_000 }
  const client = new MongoClient(mongo.url, { ...timeouts, heartbeatFrequencyMS: 500, retryWrites: false })
  t.teardown(async () => { await client.close() })
  await client.connect()
  const collection = client.db('plant_store').collection<{ _id: Long, name: string }>('plants', { promoteLongs: false })
  const insert = async (...ids: number[]) => await collection
    .insertMany(plants(...ids), { ordered: false, writeConcern: { w: 'majority' } }).then(() => 'ok', reported)
  return { mongo, client, collection, insert }
}

t.jobs = 4

/** Inserts of three plants: the cue, what the driver reports, what is stored and what the majority has. */
const scenarios: [cue: Cue, reports: string, stored: number[], majority?: number[]][] = [
  [delay(50), 'ok', [0, 1, 2]],
  [delayReply(1_500), 'timed out', [0, 1, 2]],
  [hang(), 'timed out', []],
  [loseReply(), 'timed out', [0, 1, 2]],
  [closeBeforeStoring(), 'closed', []],
  [closeAfterStoring(), 'closed', [0, 1, 2]],
  [delay(10, closeAfterStoring()), 'closed', [0, 1, 2]],
  [answer({ code: 13 }), '13', []],
  [answer({ code: 91, stored: true, replicated: false }), '91', [0, 1, 2], []],
  [writeErrors({ at: [0, 2], code: 14031 }), 'write errors 0:14031 2:14031', [1]],
  [writeErrors({ at: [2], code: 112, stored: true }), 'write errors 2:112', [0, 1, 2]],
  [writeConcernError({ code: 64 }), 'write concern error 64', [0, 1, 2], []],
  [writeConcernError({ code: 64, majority: true }), 'write concern error 64', [0, 1, 2]],
  [stepDown(), '11602', []],
  [stepDown({ stored: true }), '11602', [0, 1, 2]],
  [stepDown({ stored: true, rollBack: true }), '11602', []],
  [stepDown({ stored: true, closeConnections: true }), 'closed', [0, 1, 2]]
]

for (const [row, [cue, reports, stored, majority = stored]] of scenarios.entries()) {
  t.test(`scenario ${row + 1}: ${reports}, ${stored.length} stored, ${majority.length} on the majority`, async t => {
    const { mongo, insert } = await setUp(t)
    mongo.on('insert', cue)
    t.equal(await insert(0, 1, 2), reports)
    await sleep(20) // for an election
    t.strictSame(ids(mongo.plants()), stored)
    t.strictSame(ids(mongo.majority()), majority)
    t.equal(await insert(3, ...[0, 1, 2].filter(id => !stored.includes(id))), 'ok', 'the next insert has no cue')
    t.strictSame(ids(mongo.majority()), [0, 1, 2, 3], 'a majority write also commits earlier writes')
    t.equal(await insert(3), 'write errors 0:11000')
  })
}

t.test('a hung server answers nothing, not even heartbeats, and executes its requests later or never', async t => {
  const { mongo, insert } = await setUp(t, 'standalone')
  mongo.hang()
  t.equal(await insert(1), 'timed out')
  t.equal(mongo.plants().size, 0)
  mongo.resume()
  await until(() => mongo.plants().size > 0)
  mongo.hang()
  t.equal(await insert(2), 'timed out')
  mongo.resume({ forget: true })
  // The driver interrupts pending operations when the dropped heartbeat times out.
  let id = 3
  while (id < 50 && await insert(id) !== 'ok') id++
  t.notOk(mongo.plants().has(2n))
  t.ok(mongo.plants().has(BigInt(id)), 'the server answers again')
})

t.test('what is not supported is refused: misreading it would falsify a test', async t => {
  const { collection, client } = await setUp(t)
  const filters = [{ name: 'plant 7' }, { _id: { $lt: Long.ONE } }, { _id: { $gt: Long.ONE } }, { $nor: [{ name: 'x' }] }]
  for (const filter of filters) await t.rejects(collection.findOne(filter), { code: 2 })
  await t.rejects(client.db('x').command({ makeTea: 1 }), { code: 59 })
})
