import {
  answer, closeAfterStoring, closeBeforeStoring, delay, delayReply, hang, loseReply, stepDown, writeConcernError,
  writeErrors, type Cue
} from '../support/scripted-mongodb/cues.js'
import type { Kind, ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'

/** Possible responses: see the table in the README. */
export type Status = 200 | 400 | 503 | 504

/** What is stored under an id before the create requests. */
export interface ExistingPlant {
  id: number
  name: string
  /** Only the primary has it, and the secondaries do not replicate until the scenario allows it. */
  local?: true
}

/**
 * A fault of MongoDB, and the responses it may lead to. The plants 1, 2, 3 … are created concurrently, one for each
 * expected status. After the responses the fault is removed, delayed commands are executed, and the same plants are
 * sent again. The runner also checks the guarantees of every response: see `mongo-scenarios.test.ts`.
 */
export interface Scenario {
  name: string
  /** A replica set by default. */
  as?: Kind
  existing?: ExistingPlant[]
  /** Before the create requests: adds cues, or starts a fault. */
  fault: (mongo: ScriptedMongo) => unknown
  /** While the requests are pending. */
  during?: (mongo: ScriptedMongo) => Promise<unknown>
  /** Before MongoDB recovers, when all of its members are started and resumed in any case. */
  afterwards?: (mongo: ScriptedMongo) => unknown
  statuses: Status[]
  /** The statuses for the same plants, sent again after recovery; 200 for all by default. */
  again?: Status[]
  /** Milliseconds: by default 1,500 if a request is to fail, else 15,000. */
  storeTimeout?: number
  /**
   * The store is closed while requests are pending: each gets the outcome of its attempts, however long one takes. A
   * deadline that falls within an attempt would leave the outcome unknown.
   */
  shutsDown?: true
  /** The service has no connection to MongoDB before these requests. */
  cold?: true
}

const after = async (ms: number) => { await new Promise(resolve => setTimeout(resolve, ms)) }

/**
 * The documents with these ids fail with the code, at any position in the batch; `stored` if they are stored
 * nevertheless.
 */
function failing (ids: readonly number[], code: number, { stored = false } = {}): Cue {
  return ({ request: { documents } }, perform) => perform({
    fault: index => ids.includes(Number(documents[index]?.['_id'])) ? { code, stored } : undefined
  })
}

/** A read that finds nothing. */
const findsNothing: Cue = ({ request: { body, database } }) => ({ cursor: { id: 0n, ns: `${database}.${body['find']}`, firstBatch: [] }, ok: 1 })

const insertMeets = (...cues: Cue[]) => (mongo: ScriptedMongo) => cues.forEach(cue => mongo.on('insert', cue))
const eachInsertMeets = (cue: Cue, times = 1_000_000) => (mongo: ScriptedMongo) => mongo.on('insert', cue, { times })
const readMeets = (cue: Cue) => (mongo: ScriptedMongo) => mongo.on('find', cue)
const eachReadMeets = (cue: Cue) => (mongo: ScriptedMongo) => mongo.on('find', cue, { times: 1_000_000 })

const NO_WRITES = ['RetryableWriteError', 'NoWritesPerformed']
const OVERLOADED = ['SystemOverloadedError', 'RetryableError']

/** See also `replica-set-scenarios.ts`, which a real replica set can play. */
export const scenarios: Scenario[] = [
  // The reply, or the connection, is lost.
  { name: 'the reply is lost', fault: insertMeets(loseReply()), statuses: [200, 200] },
  { name: 'every reply is lost, although everything is stored', as: 'mongos', fault: eachInsertMeets(loseReply()), statuses: [504, 504] },
  { name: 'the connection closes after storing', as: 'standalone', fault: insertMeets(closeAfterStoring()), statuses: [200, 200] },
  { name: 'every connection closes after storing', fault: eachInsertMeets(closeAfterStoring()), statuses: [504, 504] },
  { name: 'closed before storing, then closed after storing', as: 'mongos', fault: insertMeets(closeBeforeStoring(), closeAfterStoring()), statuses: [200] },
  { name: 'every connection closes while the reply is delayed', fault: insertMeets(delayReply(400)), during: async mongo => { await after(150); mongo.disconnect() }, statuses: [200, 200] },
  {
    name: 'every connection closes repeatedly before the insert is executed',
    fault: eachInsertMeets(delay(120)),
    during: async mongo => { for (let i = 0; i < 6; i++) { await after(60); mongo.disconnect() } },
    statuses: [200, 200]
  },

  // The whole command is refused. At 10107 the driver looks for the primary, at 11600 it also closes its connections.
  { name: 'error 10107 each time, with NoWritesPerformed', fault: eachInsertMeets(answer({ code: 10107, labels: NO_WRITES })), statuses: [503, 503], shutsDown: true },
  { name: 'error 91 after storing through a mongos, each time', as: 'mongos', fault: eachInsertMeets(answer({ code: 91, stored: true })), statuses: [504, 504] },
  {
    name: 'error 11602 after storing on the primary only, which then rolls back',
    fault: mongo => mongo.on('insert', answer({ code: 11602, stored: true, replicated: false })).on('insert', answer({ code: 11602, labels: NO_WRITES }), { times: 1_000_000 }),
    afterwards: mongo => mongo.elect({ rollBack: true }),
    statuses: [504]
  },
  {
    name: 'the reply is lost, and all later attempts store nothing: the outcome stays unknown',
    fault: mongo => mongo.on('insert', closeAfterStoring()).on('insert', answer({ code: 91, labels: NO_WRITES }), { times: 1_000_000 }),
    statuses: [504, 504]
  },
  { name: 'the permission to write is revoked after a lost reply', fault: mongo => mongo.on('insert', closeAfterStoring()).on('insert', answer({ code: 13 }), { times: 1_000_000 }), statuses: [504] },
  { name: 'error 462, overloaded, three times', fault: eachInsertMeets(answer({ code: 462, labels: OVERLOADED }), 3), statuses: [200, 200] },
  { name: 'error 462, overloaded, each time', fault: eachInsertMeets(answer({ code: 462, labels: [...OVERLOADED, 'NoWritesPerformed'] })), statuses: [503], shutsDown: true },

  // Write errors by index: the other plants of the batch are stored.
  { name: 'one plant fails once', fault: insertMeets(failing([2], 112)), statuses: [200, 200, 200] },
  { name: 'one plant fails each time', fault: eachInsertMeets(failing([2], 112)), statuses: [200, 504, 200] },
  { name: 'one plant fails three times, although it is stored', fault: eachInsertMeets(failing([3], 91, { stored: true }), 3), statuses: [200, 200, 200] },
  { name: 'the server\'s disk is full', fault: eachInsertMeets(failing([1, 2], 14031)), statuses: [503, 503] },

  // The id exists already.
  { name: 'another plant has the id, and replies are lost', existing: [{ id: 2, name: 'other' }], fault: eachInsertMeets(closeAfterStoring(), 3), statuses: [200, 400, 200], again: [200, 400, 200] },
  {
    name: 'another plant has the id on the primary only, and is rolled back',
    existing: [{ id: 1, name: 'other', local: true }],
    fault: () => {},
    during: async mongo => { await after(200); mongo.elect({ rollBack: true }); mongo.resumeReplication() },
    statuses: [200]
  },
  {
    name: 'another plant has the id on the primary only, and then reaches the majority',
    existing: [{ id: 1, name: 'other', local: true }],
    fault: () => {},
    during: async mongo => { await after(200); mongo.resumeReplication() },
    statuses: [400],
    again: [400]
  },
  {
    name: 'the same plant exists on the primary only, and is rolled back after the response',
    existing: [{ id: 1, name: 'plant 1', local: true }],
    fault: () => {},
    afterwards: mongo => mongo.elect({ rollBack: true }),
    statuses: [504]
  },

  // The id exists already, and reading it back fails.
  { name: 'no permission to read, and an id is taken', existing: [{ id: 1, name: 'other' }], fault: eachReadMeets(answer({ code: 13 })), statuses: [504, 200], again: [400, 200] },
  { name: 'the read-back hangs each time', existing: [{ id: 1, name: 'plant 1' }], fault: eachReadMeets(hang()), statuses: [504] },
  { name: 'the connection closes during the read-back', existing: [{ id: 1, name: 'other' }], fault: readMeets(closeBeforeStoring()), statuses: [400, 200], again: [400, 200] },
  { name: 'the primary steps down during the read-back', existing: [{ id: 1, name: 'plant 1' }], fault: readMeets(stepDown({ electAfter: 300 })), statuses: [200, 200] },
  { name: 'the read-back finds nothing, once', existing: [{ id: 1, name: 'other' }], fault: readMeets(findsNothing), statuses: [400], again: [400] },
  { name: 'the read-back finds nothing, each time', existing: [{ id: 1, name: 'plant 1' }], fault: eachReadMeets(findsNothing), statuses: [504] },

  // Stored, but not on the majority: the write can be rolled back.
  { name: 'write concern error 64, rolled back immediately', fault: insertMeets(writeConcernError({ code: 64 })), during: async mongo => { await after(10); mongo.elect({ rollBack: true }) }, statuses: [200, 200] },
  {
    name: 'write concern error 11602 each time, rolled back afterwards',
    fault: mongo => mongo.on('insert', writeConcernError({ code: 11602 }), { times: 1_000_000 }).on('find', answer({ code: 134 }), { times: 1_000_000 }),
    afterwards: mongo => mongo.elect({ rollBack: true }),
    statuses: [504]
  },
  { name: 'a write concern error together with a taken id', existing: [{ id: 2, name: 'other' }], fault: insertMeets(writeConcernError({ code: 64, majority: true })), statuses: [200, 400, 200], again: [200, 400, 200] },
  { name: 'only the primary stores the write, three times', fault: eachInsertMeets(writeConcernError({ code: 64 }), 3), statuses: [200, 200] },
  {
    name: 'replication stops, and the primary is replaced by one without the write',
    fault: mongo => mongo.pauseReplication(),
    during: async mongo => { await after(200); mongo.elect({ rollBack: true }); mongo.resumeReplication() },
    statuses: [200, 200]
  },
  { name: 'replication stops, and the write is rolled back', fault: mongo => mongo.pauseReplication(), afterwards: mongo => mongo.elect({ rollBack: true }), statuses: [504, 504] },

  // A mongos loses a shard.
  { name: 'a shard fails once, nothing stored', as: 'mongos', fault: insertMeets(writeErrors({ at: [0, 1, 2], code: 6 })), statuses: [200, 200, 200] },
  { name: 'a shard times out after storing all', as: 'mongos', fault: insertMeets(writeErrors({ at: [0, 1, 2], code: 89, stored: true })), statuses: [200, 200, 200] },
  { name: 'a shard is unavailable', as: 'mongos', fault: eachInsertMeets(failing([2, 3], 6)), statuses: [200, 504, 504] },
  { name: 'a shard becomes unavailable, having stored its documents', as: 'mongos', fault: eachInsertMeets(failing([1, 3], 6, { stored: true })), statuses: [504, 200, 504] },

  // Elections.
  { name: 'the primary steps down after storing, and the next primary has the write', fault: insertMeets(stepDown({ electAfter: 300, stored: true })), statuses: [200, 200] },
  { name: 'the primary steps down and closes its connections, and the next one does not have the write', fault: insertMeets(stepDown({ electAfter: 300, stored: true, rollBack: true, closeConnections: true })), statuses: [200, 200] },
  { name: 'an election of 5 s', fault: insertMeets(stepDown({ electAfter: 5_000, closeConnections: true })), statuses: [200, 200], storeTimeout: 8_000 },
  { name: 'three elections, one after the other', fault: insertMeets(...[100, 200, 300].map(electAfter => stepDown({ electAfter, stored: true, rollBack: electAfter === 200 }))), statuses: [200, 200] },
  { name: 'an election that takes longer than STORE_TIMEOUT', fault: insertMeets(stepDown({ electAfter: 2_500, stored: true })), statuses: [504, 504], afterwards: () => after(1_500) },
  { name: 'there is no primary: nothing is sent', fault: async mongo => { await after(700); mongo.stepDown({ electAfter: 4_000 }); await after(500) }, statuses: [503, 503], afterwards: () => after(2_500) },

  // Silence.
  { name: 'MongoDB hangs, and later executes the requests', fault: mongo => mongo.hang(), statuses: [504, 504] },
  { name: 'MongoDB hangs, and never executes the requests', as: 'mongos', fault: mongo => mongo.hang(), afterwards: mongo => mongo.resume({ forget: true }), statuses: [504, 504] },
  { name: 'MongoDB hangs before there is a connection', cold: true, fault: mongo => mongo.hang(), statuses: [504, 504] },
  { name: 'MongoDB hangs for 0.6 s', fault: mongo => mongo.hang(), during: async mongo => { await after(600); mongo.resume() }, statuses: [200, 200] },
  { name: 'MongoDB hangs for 1 s, and never executes the requests', as: 'standalone', fault: mongo => mongo.hang(), during: async mongo => { await after(1_000); mongo.resume({ forget: true }) }, statuses: [200, 200] },
  { name: 'one insert hangs', fault: insertMeets(hang()), statuses: [200, 200] },
  { name: 'an insert is executed after its deadline', fault: eachInsertMeets(delay(1_700)), afterwards: () => after(500), statuses: [504, 504] },
  { name: 'every reply is delayed by 300 ms', as: 'mongos', fault: eachInsertMeets(delayReply(300)), statuses: [200, 200] },

  // Starts and stops.
  { name: 'MongoDB is not running', as: 'standalone', cold: true, fault: async mongo => await mongo.stop(), statuses: [503, 503] },
  { name: 'MongoDB starts half a second late', cold: true, fault: async mongo => await mongo.stop(), during: async mongo => { await after(500); await mongo.start() }, statuses: [200, 200] },
  { name: 'MongoDB stops', as: 'standalone', fault: async mongo => { await mongo.stop(); await after(300) }, statuses: [503, 503] },
  { name: 'MongoDB restarts while a reply is delayed', fault: insertMeets(delayReply(400)), during: async mongo => { await after(150); await mongo.stop(); await after(300); await mongo.start() }, statuses: [200, 200] },

  // Many requests: 300 of them are several batches in flight.
  { name: 'the replies to many batches are lost', fault: eachInsertMeets(delay(60, closeAfterStoring()), 6), statuses: new Array(300).fill(200) },
  {
    name: 'many batches, and a step-down that rolls back',
    fault: insertMeets(
      delay(30, writeConcernError({ code: 64 })),
      stepDown({ stored: true, rollBack: true, electAfter: 400, closeConnections: true })
    ),
    statuses: new Array(300).fill(200)
  },
  { name: 'all pooled connections are discarded five times', fault: eachInsertMeets(answer({ code: 91 }), 5), statuses: new Array(200).fill(200) },
  {
    name: 'every third plant fails, different ones each time',
    as: 'mongos',
    fault: insertMeets(...[0, 1, 2].map(rest => {
      const ids = Array.from({ length: 100 }, (_, i) => i * 3 + rest)
      return failing(ids, 6, { stored: rest === 1 })
    })),
    statuses: new Array(200).fill(200)
  }
]
