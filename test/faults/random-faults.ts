import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import {
  mongoPlantStore, PlantNotStored, PlantPerhapsStored, sqlitePlantStore, type CreateOutcome, type PlantStore
} from '../../src/index.js'
import type { Cue } from '../support/scripted-mongodb/cue.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, closeWithinReply, delay,
  delayReply, hang, loseReply, shardFailure, stepDown, unreplicated, writeConcernError, writeErrors
} from '../support/scripted-mongodb/cues.js'
import type { Kind } from '../support/scripted-mongodb/deployment.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { openSqlite, plantsInFile } from '../support/stores/sqlite-file.js'

/** With few ids and two names, sequences often retry a plant, or create another one with its id. */
const IDS = 4
const STORE_TIMEOUT = 250

/** One step of a sequence: create requests are sent without waiting, a fault starts, or time passes. */
type Step<Fault> = { create: { id: number, name: string }[] } | { fault: Fault } | { wait: number }

type Stored = ReadonlyMap<bigint, { name?: unknown }>

/** A store on which sequences are played, with its own kind of faults. */
interface Stage<Fault> {
  store: PlantStore
  begin: (fault: Fault) => void
  /** Ends all faults, and lets delayed commands be executed. */
  recover: () => Promise<void>
  /** The stored plants: those stored durably, and all of them. */
  stored: () => Promise<{ durably: Stored, atAll: Stored }>
  /** The worst that may happen afterwards: a restart, or a failover that rolls back what is not on the majority. */
  disaster: () => Promise<void>
  close: () => Promise<void>
}

const anyStep = <Fault>(fault: fc.Arbitrary<Fault>): fc.Arbitrary<Step<Fault>> => fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      create: fc.array(fc.record({ id: fc.integer({ min: 1, max: IDS }), name: fc.constantFrom('fern', 'ivy') }), { minLength: 1, maxLength: 4 })
    })
  },
  { weight: 4, arbitrary: fc.record({ fault }) },
  { weight: 2, arbitrary: fc.record({ wait: fc.integer({ min: 0, max: 40 }) }) }
)

/**
 * Plays a sequence against the model, which is the set of acknowledged plants and the set of refused ones.
 * @throws if the store contradicts it
 */
async function play<Fault> (stage: Stage<Fault>, steps: readonly Step<Fault>[]): Promise<void> {
  const pending: Promise<{ id: number, name: string, outcome: CreateOutcome | 'not stored' | 'uncertain', reason: string }>[] = []
  const create = async (plant: { id: number, name: string }, timeoutMs = STORE_TIMEOUT) => {
    const began = performance.now()
    let reason = ''
    const created = stage.store.create({ id: BigInt(plant.id), name: plant.name }, began + timeoutMs)
    const outcome = await created.catch((error: Error) => {
      reason = error.message
      if (error instanceof PlantNotStored) return 'not stored' as const
      if (error instanceof PlantPerhapsStored) return 'uncertain' as const
      throw error
    })
    return { ...plant, outcome, reason }
  }
  for (const step of steps) {
    if ('create' in step) pending.push(...step.create.map(async plant => await create(plant)))
    else if ('fault' in step) stage.begin(step.fault)
    else await sleep(step.wait)
  }
  const outcomes = await Promise.all(pending)
  await stage.recover()

  const acknowledged = new Map<number, string>()
  for (const { id, name, outcome } of outcomes) {
    if (outcome !== 'stored' && outcome !== 'same') continue
    const other = acknowledged.get(id)
    if (other !== undefined && other !== name) throw new Error(`two plants were acknowledged under the id ${id}`)
    acknowledged.set(id, name)
  }
  const { durably, atAll } = await stage.stored()
  for (const [id, name] of acknowledged) {
    if (durably.get(BigInt(id))?.name !== name) throw new Error(`plant ${id} ${name} was acknowledged, but is lost`)
  }
  for (const { id, name, outcome } of outcomes) {
    const same = outcomes.filter(other => other.id === id && other.name === name)
    const refused = same.every(({ outcome }) => outcome === 'not stored')
    if (refused && atAll.get(BigInt(id))?.name === name) throw new Error(`plant ${id} ${name} was refused, but is stored`)
    if (outcome === 'taken' && acknowledged.get(id) === name) throw new Error(`plant ${id} ${name} was acknowledged, then reported as taken`)
    if (outcome === 'taken' && same.length === 1 && !outcomes.some(other => other.id === id && other.name !== name)) {
      throw new Error(`the id ${id} was reported as taken, but no other plant has it`)
    }
  }

  // After recovery, the outcome of a retry agrees with the earlier outcomes.
  for (const id of new Set(outcomes.map(({ id }) => id))) {
    for (const name of new Set(outcomes.filter(other => other.id === id).map(({ name }) => name))) {
      const holder = (await stage.stored()).atAll.get(BigInt(id))?.name
      const { outcome, reason } = await create({ id, name }, 10_000)
      const expected = holder === undefined ? 'stored' : holder === name ? 'same' : 'taken'
      // A request that the store itself retried finds what the first attempt stored.
      if (outcome !== expected && !(expected === 'stored' && outcome === 'same')) throw new Error(`plant ${id} ${name}: ${outcome} instead of ${expected}, after recovery: ${reason}`)
      if (outcome !== 'taken') acknowledged.set(id, name)
    }
  }
  await stage.disaster()
  const later = (await stage.stored()).durably
  for (const [id, name] of acknowledged) {
    if (later.get(BigInt(id))?.name !== name) throw new Error(`plant ${id} ${name} was acknowledged, but a later disaster removed it`)
  }
}

// MongoDB.

interface MongoFault { name: string, begin: (mongo: ScriptedMongo) => unknown }

const cued = (name: string, cue: Cue, times = 1): MongoFault => ({ name: `${name} × ${times}`, begin: mongo => mongo.on('insert', cue, { times }) })
const NO_WRITES = ['RetryableWriteError', 'NoWritesPerformed']

const anyTimes = fc.constantFrom(1, 1, 2, 5)
const anyCode = fc.constantFrom(6, 64, 79, 89, 91, 100, 112, 189, 262, 10107, 11600, 11602, 13435)
const anyCue: fc.Arbitrary<MongoFault> = fc.oneof(
  fc.tuple(fc.constantFrom<[string, Cue]>(
    ['loseReply', loseReply()], ['closeBeforeStoring', closeBeforeStoring()], ['closeAfterStoring', closeAfterStoring()], ['closeWithinReply', closeWithinReply()],
    ['hang', hang()], ['unreplicated', unreplicated()], ['delay', delay(30)], ['delay past the deadline', delay(STORE_TIMEOUT + 50)], ['delayReply', delayReply(30)]
  ), anyTimes).map(([[name, cue], times]) => cued(name, cue, times)),
  fc.tuple(anyCode, fc.boolean(), fc.boolean(), anyTimes).map(([code, stored, replicated, times]) => (
    cued(`error ${code}${stored ? ' stored' : ''}${replicated ? ' replicated' : ''}`, answer({ code, stored, replicated, labels: stored ? [] : code % 2 === 0 ? NO_WRITES : [] }), times)
  )),
  fc.tuple(anyCode, fc.array(fc.nat(3), { minLength: 1 }), fc.boolean(), anyTimes).map(([code, at, stored, times]) => (
    cued(`write errors ${code} at ${at}${stored ? ' stored' : ''}`, writeErrors({ code, at, stored }), times)
  )),
  fc.tuple(anyCode, fc.boolean(), anyTimes).map(([code, majority, times]) => cued(`write concern error ${code}${majority ? ' majority' : ''}`, writeConcernError({ code, majority }), times)),
  fc.tuple(fc.nat(2), fc.nat(3)).map(([from, storedFirst]) => cued(`shard failure from ${from}, ${storedFirst} stored`, shardFailure({ from, storedFirst }))),
  fc.tuple(fc.constantFrom(...[13, 134, 11600]), anyTimes).map(([code, times]): MongoFault => ({ name: `find ${code} × ${times}`, begin: mongo => mongo.on('find', answer({ code }), { times }) })),
  fc.constantFrom<MongoFault>(
    { name: 'find hangs', begin: mongo => mongo.on('find', hang()) },
    { name: 'find closes', begin: mongo => mongo.on('find', closeWithinReply()) },
    { name: 'disconnect', begin: mongo => mongo.disconnect() },
    { name: 'hang', begin: mongo => mongo.hang() },
    { name: 'resume', begin: mongo => mongo.resume() },
    { name: 'resume without the held requests', begin: mongo => mongo.resume({ forget: true }) },
    { name: 'delayed replies', begin: mongo => mongo.delayAnswers(10) }
  )
)
const anyReplicaSetFault: fc.Arbitrary<MongoFault> = fc.oneof(
  { weight: 3, arbitrary: anyCue },
  {
    weight: 2,
    arbitrary: fc.record({
      electAfter: fc.constantFrom(0, 5, 40),
      rollBack: fc.boolean(),
      closeConnections: fc.boolean(),
      stored: fc.boolean(),
      cue: fc.boolean()
    })
      .map(({ cue, stored, ...options }): MongoFault => cue
        ? cued(`step down ${JSON.stringify({ stored, ...options })}`, stepDown({ stored, ...options }))
        : { name: `step down now ${JSON.stringify(options)}`, begin: mongo => mongo.stepDown(options) })
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<MongoFault>(
      { name: 'pause replication', begin: mongo => mongo.pauseReplication() },
      { name: 'resume replication', begin: mongo => mongo.resumeReplication() },
      { name: 'roll back', begin: mongo => mongo.rollBack() }
    )
  }
)

/** A scripted MongoDB, and a store on it, for one sequence. */
async function mongoStage (mongo: ScriptedMongo, as: Kind): Promise<Stage<MongoFault>> {
  // Many servers and clients share this process, whose own delays must not look like faults.
  const limits = 'connectTimeoutMS=5000&serverSelectionTimeoutMS=100&waitQueueTimeoutMS=100&socketTimeoutMS=100&heartbeatFrequencyMS=500'
  const store = mongoPlantStore({ url: `${mongo.url}${mongo.url.includes('?') ? '&' : '?'}${limits}`, storeTimeout: STORE_TIMEOUT })
  return {
    store,
    begin: fault => { fault.begin(mongo) },
    async recover () {
      mongo.clearCues()
      mongo.delayAnswers(0)
      mongo.resumeReplication()
      mongo.resume()
      // Longer than a cue can delay an insert.
      await sleep(STORE_TIMEOUT + 80)
      // Instead of an election that is still pending.
      if (as === 'replica set') mongo.elect()
      await sleep(5)
    },
    stored: async () => ({ durably: mongo.majority(), atAll: mongo.plants() }),
    async disaster () { if (as === 'replica set') mongo.elect({ rollBack: true }) },
    async close () {
      await store.close?.()
      await mongo.close()
    }
  }
}

// SQLite.

const SQLITE_BUSY = 5

type SqliteFault = 'kill the thread' | 'lock' | 'unlock' | 'write as another program' | 'create a trigger that refuses' | 'drop the trigger'

const anySqliteFault: fc.Arbitrary<SqliteFault> = fc.constantFrom<SqliteFault>(
  'kill the thread', 'kill the thread', 'lock', 'unlock', 'unlock', 'write as another program', 'create a trigger that refuses', 'drop the trigger'
)

/** The current thread of a sequence's store: Node announces each thread in the async context that started it. */
const sequence = new AsyncLocalStorage<{ thread?: Worker }>()
process.on('worker', thread => { Object.assign(sequence.getStore() ?? {}, { thread }) })

async function sqliteStage (): Promise<Stage<SqliteFault>> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-random-'))
  const path = join(folder, 'plants.db')
  const store = sqlitePlantStore({ path })
  await store.open?.()
  const other = openSqlite(path)
  other.exec('PRAGMA busy_timeout = 0')
  /** Executes SQL unless the database is busy. @returns whether it was executed */
  const attempt = (sql: string): boolean => {
    try {
      other.exec(sql)
      return true
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
  }
  let isLocked = false
  const unlock = () => {
    if (isLocked) other.exec('ROLLBACK')
    isLocked = false
  }
  const context = sequence.getStore()
  const faults: Record<SqliteFault, () => void> = {
    'kill the thread': () => { context?.thread?.terminate() },
    lock: () => { isLocked ||= attempt('BEGIN IMMEDIATE') },
    unlock,
    'write as another program': () => attempt('INSERT OR IGNORE INTO plants VALUES (99, \'from another program\', NULL)'),
    'create a trigger that refuses': () => attempt('CREATE TRIGGER IF NOT EXISTS no BEFORE INSERT ON plants WHEN NEW.id % 2 = 0 BEGIN SELECT RAISE(ABORT, \'no\'); END'),
    'drop the trigger': () => attempt('DROP TRIGGER IF EXISTS no')
  }
  /** Reads, with retries: after a thread died, the first to open the file locks it for a moment. */
  const retryWhileBusy = async <T>(read: () => T): Promise<T> => {
    for (let turn = 0; ; turn++) {
      try {
        return read()
      } catch (error) {
        if (turn === 200 || !isBusy(error)) throw error
        await sleep(10)
      }
    }
  }
  const stored = async () => {
    const plants = await retryWhileBusy(() => plantsInFile(path))
    return { durably: plants, atAll: plants }
  }
  return {
    store,
    begin: fault => { faults[fault]() },
    async recover () {
      unlock()
      await retryWhileBusy(() => other.exec('DROP TRIGGER IF EXISTS no'))
    },
    stored,
    async disaster () { await store.close?.() },
    async close () {
      await store.close?.()
      other.close()
      rmSync(folder, { recursive: true })
    }
  }
}

function isBusy (error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY
}

// The runs.

/** In milliseconds: while turns of the event loop take longer, no further sequence is started. */
const HIGHEST_DELAY_MS = 15

/**
 * Plays random sequences.
 * @param lanes the number of sequences played concurrently
 * @param sqliteShare the number of sequences out of 100 that are played on SQLite
 * @throws at the first contradiction, with its seed and its sequence
 */
async function playRandomSequences (
  sequences: number, lanes: number, seed: number, sqliteShare: number
): Promise<void> {
  const kinds: Kind[] = ['replica set', 'standalone', 'replica set', 'mongos']
  let next = 0
  const eventLoop = monitorEventLoopDelay({ resolution: 5 })
  eventLoop.enable()
  const busy = setInterval(() => eventLoop.reset(), 500)
  await Promise.all(Array.from({ length: lanes }, async () => {
    while (next < sequences) {
      while (eventLoop.mean > HIGHEST_DELAY_MS * 1e6) await sleep(20)
      const number = next++
      const onSqlite = number % 100 < sqliteShare
      const as = kinds[number % kinds.length] as Kind
      const sample = <Fault>(fault: fc.Arbitrary<Fault>) =>
        fc.sample(fc.array(anyStep(fault), { minLength: 2, maxLength: 9 }), {
          numRuns: 1, seed: seed + number
        })[0] as Step<Fault>[]
      const run = async <Fault>(stage: Stage<Fault>, steps: readonly Step<Fault>[]) => {
        try {
          await play(stage, steps)
        } catch (error) {
          throw new Error(`sequence ${number} of seed ${seed}, ${onSqlite ? 'SQLite' : as}: ${(error as Error).message}\n${JSON.stringify(steps, undefined, 1)}`, { cause: error })
        } finally {
          await stage.close()
        }
      }
      if (onSqlite) {
        await sequence.run({}, async () => { await run(await sqliteStage(), sample(anySqliteFault)) })
      } else {
        const mongo = await ScriptedMongo.start(undefined, { as })
        await run(await mongoStage(mongo, as), sample(as === 'replica set' ? anyReplicaSetFault : anyCue))
      }
    }
  }))
  clearInterval(busy)
  eventLoop.disable()
}

const { values } = parseArgs({
  options: {
    sequences: { type: 'string', default: '10000' },
    lanes: { type: 'string', default: '24' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    sqlite: { type: 'string', default: '10' }
  }
})
console.log(`seed ${values.seed}`)
const { sequences, lanes, seed, sqlite } = values
await playRandomSequences(Number(sequences), Number(lanes), Number(seed), Number(sqlite)).catch((error: Error) => {
  console.error(error.message)
  process.exit(1)
})
console.log(`${sequences} sequences, 0 contradictions`)
process.exit()
