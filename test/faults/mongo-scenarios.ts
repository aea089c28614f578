import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient, type Collection } from 'mongodb'
import type { Test } from 'tap'
import { mongoPlantStore } from '../../src/stores/mongo/mongo-plant-store.js'
import { buildService } from '../support/http/service.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, delay, delayReply, hang, loseReply, stepDown, writeConcernError,
  writeErrors, type Cue
} from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import type { FailCommand, ReplicaSet } from '../support/stores/replica-set.js'

type Plants = Collection<{ _id: bigint, name: string }>

/** A replica set, scripted or real, with the same faults. */
export interface Stage {
  url: string
  plants: Plants
  /** Makes a command fail: `data` on a real replica set, `cue` on a scripted one. */
  fail: (command: 'insert' | 'find', data: FailCommand, cue: Cue, times: Times) => Promise<void>
  stepDown: () => Promise<void>
  /** Adds a validator that refuses documents with this name. */
  refuse: (name: string) => Promise<void>
  recover: () => Promise<void>
}

type ScriptedStage = Stage & { mongo: ScriptedMongo }
type RealStage = Stage & { set: ReplicaSet }

/** A fault, and the responses to create requests. */
export interface Scenario<S> {
  name: string
  /** Plants stored before the create requests. */
  existing?: { id: number, name: string }[]
  /** Whether the service has no connection to MongoDB before the create requests. */
  cold?: true
  fault: (stage: S) => Promise<unknown>
  /** While the create requests are pending. */
  during?: (stage: S) => Promise<unknown>
  /** The statuses for plants 1, 2, 3 …, which are created concurrently. */
  statuses: number[]
  /** The statuses for the same plants, sent again after recovery; 200 for all by default. */
  again?: number[]
  storeTimeout?: number
}

const NO_WRITES = ['RetryableWriteError', 'NoWritesPerformed']

type Times = number | 'always'

const insertFails = (code: number, times: Times, labels?: string[]) => async ({ fail }: Stage) => {
  const data = labels === undefined ? { errorCode: code } : { errorCode: code, errorLabels: labels }
  await fail('insert', data, answer(labels === undefined ? { code } : { code, labels }), times)
}
const readFails = (code: number, times: Times) => async ({ fail }: Stage) => {
  await fail('find', { errorCode: code }, answer({ code }), times)
}
const writeConcernFails = (code: number, times: Times) => async ({ fail }: Stage) => {
  const data = { writeConcernError: { code, errmsg: 'scripted' } }
  await fail('insert', data, writeConcernError({ code, majority: true }), times)
}
const connectionCloses = (times: Times) => async ({ fail }: Stage) => {
  await fail('insert', { closeConnection: true }, closeBeforeStoring(), times)
}
const insertIsDelayed = (ms: number, times: Times) => async ({ fail }: Stage) => {
  await fail('insert', { blockConnection: true, blockTimeMS: ms }, delay(ms), times)
}

const none = async () => {}
/** The plant that the first create request creates, too. */
const same = [{ id: 1, name: 'plant 1' }]
/** Another plant with the id of the second. */
const other = [{ id: 2, name: 'other' }]
const MINUTE = 60_000

/** Of a scripted and of a real replica set. */
export const scenarios: Scenario<Stage>[] = [
  { name: 'no fault', fault: none, statuses: [200, 200, 200] },
  { name: 'the same plant exists already', existing: same, fault: none, statuses: [200, 200] },
  {
    name: 'another plant has the id',
    existing: other,
    fault: none,
    statuses: [200, 400, 200],
    again: [200, 400, 200]
  },
  { name: 'the connection closes once', fault: connectionCloses(1), statuses: [200, 200] },
  { name: 'every connection closes', fault: connectionCloses('always'), statuses: [504, 504] },
  ...[91, 189, 10107, 11600, 11602, 13435].map(code => (
    { name: `error ${code} once`, fault: insertFails(code, 1), statuses: [200, 200] }
  )),
  { name: 'error 11600 each time, without a label', fault: insertFails(11600, 'always'), statuses: [504] },
  { name: 'error 112 each time, without writes', fault: insertFails(112, 'always', NO_WRITES), statuses: [503, 503] },
  { name: 'no permission to write', fault: insertFails(13, 'always'), statuses: [503, 503], storeTimeout: MINUTE },
  {
    name: 'a validator refuses one plant',
    fault: async ({ refuse }) => await refuse('plant 2'),
    statuses: [200, 503, 200],
    again: [200, 503, 200],
    storeTimeout: MINUTE
  },
  { name: 'write concern error 64 once', fault: writeConcernFails(64, 1), statuses: [200, 200] },
  { name: 'write concern error 91 three times', fault: writeConcernFails(91, 3), statuses: [200, 200] },
  { name: 'the insert is delayed by half a second', fault: insertIsDelayed(500, 1), statuses: [200, 200] },
  { name: 'every insert is slower than STORE_TIMEOUT', fault: insertIsDelayed(2_500, 'always'), statuses: [504, 504] },
  { name: 'the read-back fails once', existing: same, fault: readFails(11600, 1), statuses: [200, 200] },
  { name: 'the read-back fails each time', existing: same, fault: readFails(134, 'always'), statuses: [504, 200] },
  { name: 'the primary steps down', fault: ({ stepDown }) => stepDown(), statuses: [200, 200], storeTimeout: MINUTE }
]

export const realScenarios: Scenario<RealStage>[] = [
  { name: 'replication stops', fault: async ({ set }) => set.stopReplication(true), statuses: [504, 504] },
  {
    name: 'replication stops for half a second',
    fault: async ({ set }) => set.stopReplication(true),
    during: async ({ set }) => { await sleep(500); await set.stopReplication(false) },
    statuses: [200, 200]
  },
  { name: 'the primary is killed', fault: ({ set }) => set.killPrimary(), statuses: [200, 200], storeTimeout: MINUTE },
  { name: 'a secondary dies', fault: ({ set }) => set.killSecondary(), statuses: [200, 200], storeTimeout: MINUTE }
]

const meets = (command: 'insert' | 'find', cue: Cue, times = 1) => async ({ mongo }: ScriptedStage) =>
  mongo.on(command, cue, { times })
const hangs = async ({ mongo }: ScriptedStage) => mongo.hang()
const stops = async ({ mongo }: ScriptedStage) => mongo.stop()
const ALWAYS = 1_000_000

/** Connections that close or fall silent at a given moment, elections and restarts, as the driver sees them. */
export const scriptedScenarios: Scenario<ScriptedStage>[] = [
  { name: 'the reply is lost', fault: meets('insert', loseReply()), statuses: [200, 200] },
  { name: 'every reply is lost', fault: meets('insert', loseReply(), ALWAYS), statuses: [504, 504] },
  { name: 'the connection closes after storing', fault: meets('insert', closeAfterStoring()), statuses: [200, 200] },
  { name: 'each one closes after storing', fault: meets('insert', closeAfterStoring(), ALWAYS), statuses: [504, 504] },
  { name: 'many replies are lost', fault: meets('insert', closeAfterStoring(), 6), statuses: new Array(300).fill(200) },
  {
    name: 'every connection closes while the reply is delayed',
    fault: meets('insert', delayReply(400)),
    during: async ({ mongo }) => { await sleep(150); mongo.disconnect() },
    statuses: [200, 200]
  },
  {
    name: 'another plant has the id, and connections close after storing',
    existing: other,
    fault: meets('insert', closeAfterStoring(), 3),
    statuses: [200, 400, 200],
    again: [200, 400, 200]
  },
  {
    name: 'the connection closes during the read-back',
    existing: [{ id: 1, name: 'other' }],
    fault: meets('find', closeBeforeStoring()),
    statuses: [400, 200],
    again: [400, 200]
  },
  { name: 'the read-back hangs each time', existing: same, fault: meets('find', hang(), ALWAYS), statuses: [504] },
  {
    name: 'the primary steps down during the read-back',
    existing: same,
    fault: meets('find', stepDown({ electAfter: 300 })),
    statuses: [200, 200]
  },
  {
    name: 'the primary steps down and closes its connections',
    fault: meets('insert', stepDown({ electAfter: 300, closeConnections: true })),
    statuses: [200, 200]
  },
  {
    name: 'there is no primary: nothing is sent',
    fault: async ({ mongo }) => { await sleep(700); mongo.stepDown({ electAfter: 4_000 }); await sleep(500) },
    statuses: [503, 503]
  },
  { name: 'one insert hangs', fault: meets('insert', hang()), statuses: [200, 200] },
  { name: 'MongoDB hangs, and later executes the requests', fault: hangs, statuses: [504, 504] },
  { name: 'MongoDB hangs before there is a connection', cold: true, fault: hangs, statuses: [503, 503] },
  {
    name: 'MongoDB hangs for 1 s, and never executes the requests',
    fault: hangs,
    during: async ({ mongo }) => { await sleep(1_000); mongo.resume({ forget: true }) },
    statuses: [200, 200]
  },
  { name: 'MongoDB is not running', cold: true, fault: stops, statuses: [503, 503], storeTimeout: 5_000 },
  {
    name: 'MongoDB starts half a second late',
    cold: true,
    fault: stops,
    during: async ({ mongo }) => { await sleep(500); await mongo.start() },
    statuses: [200, 200]
  },
  { name: 'MongoDB stops', fault: async stage => { await stops(stage); await sleep(300) }, statuses: [503, 503] },
  {
    name: 'MongoDB restarts while a reply is delayed',
    fault: meets('insert', delayReply(400)),
    during: async ({ mongo }) => { await sleep(150); await mongo.stop(); await sleep(300); await mongo.start() },
    statuses: [200, 200]
  }
]

/** Plays a scenario, and checks that each acknowledged plant is stored and no refused plant is. */
export async function play<S extends Stage> (
  t: Test,
  stage: S,
  { existing = [], cold, fault, during, statuses, again = statuses.map(() => 200), storeTimeout }: Scenario<S>
): Promise<void> {
  const timeout = storeTimeout ?? (statuses.includes(504) || statuses.includes(503) ? 2_000 : 20_000)
  const service = await buildService(t, mongoPlantStore({ url: stage.url, storeTimeout: timeout }), {
    STORE_TIMEOUT: timeout
  })
  if (!cold) await service.health.fault()
  const documents = existing.map(({ id, name }) => ({ _id: BigInt(id), name }))
  if (existing.length > 0) await stage.plants.insertMany(documents, { writeConcern: { w: 'majority' } })
  await fault(stage)
  const began = performance.now()
  const create = async () => Promise.all(statuses.map(async (_, i) => {
    const { statusCode } = await service.create({ id: i + 1, name: `plant ${i + 1}` })
    return statusCode
  }))
  const [answers] = await Promise.all([create(), during?.(stage)])
  t.strictSame(answers, statuses, 'the responses')
  t.ok(performance.now() - began < Math.min(timeout, 20_000) + 3_000, 'in time')

  await stage.recover()
  while (await service.health.fault() !== undefined) await sleep(50)
  // Longer than an insert is delayed.
  await sleep(Math.min(timeout, 2_500))
  const found = await stage.plants.find({}, { readConcern: 'majority', promoteLongs: true }).toArray()
  const stored = new Set(found.map(({ _id, name }) => `${_id} ${name}`))
  answers.forEach((status, i) => {
    const isStored = stored.has(`${i + 1} plant ${i + 1}`)
    if (status === 200) t.ok(isStored, `plant ${i + 1} was acknowledged, and is stored`)
    if (status === 503) t.notOk(isStored, `plant ${i + 1} was refused, and is not stored`)
  })
  t.strictSame(await create(), again, 'the responses to the retries')
}

export async function scriptedStage (t: Test): Promise<ScriptedStage> {
  const mongo = await ScriptedMongo.start(t)
  const client = new MongoClient(mongo.url)
  t.teardown(() => client.close())
  let refused: string | undefined
  const refuse = async (name: string) => {
    refused = name
    mongo.on('insert', (scene, perform) => {
      const at = scene.request.documents.flatMap((document, index) => document['name'] === name ? [index] : [])
      return writeErrors({ at, code: 121 })(scene, perform)
    }, times('always'))
  }
  const times = (count: Times) => ({ times: count === 'always' ? 1_000_000 : count })
  return {
    mongo,
    url: mongo.url,
    plants: client.db('plant_store').collection('plants'),
    fail: async (command, _data, cue, count) => { mongo.on(command, cue, times(count)) },
    stepDown: async () => { mongo.stepDown({ electAfter: 500 }) },
    refuse,
    async recover () {
      mongo.clearCues()
      // A validator is not a fault, and remains.
      if (refused !== undefined) await refuse(refused)
      await mongo.start()
      mongo.resume()
    }
  }
}

export async function realStage (t: Test, set: ReplicaSet): Promise<RealStage> {
  const database = `plant_store_test_${randomBytes(6).toString('hex')}`
  const client = new MongoClient(set.url(database))
  t.teardown(async () => {
    await set.recover()
    await client.db().dropDatabase()
    await client.close()
  })
  return {
    set,
    url: set.url(database),
    plants: client.db().collection('plants'),
    fail: async (command, data, _cue, times) => await set.failCommand(command, data, times),
    stepDown: async () => await set.stepDown(),
    refuse: async name => { await client.db().createCollection('plants', { validator: { name: { $ne: name } } }) },
    recover: async () => await set.recover()
  }
}
