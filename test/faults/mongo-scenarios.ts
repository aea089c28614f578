import type { Cue } from '../support/scripted-mongodb/cue.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, closeWithinReply, delay, delayReply, hang,
  inOrder, loseReply, shardFailure, stepDown,
  unreplicated, writeConcernError, writeErrors
} from '../support/scripted-mongodb/cues.js'
import type { Kind } from '../support/scripted-mongodb/deployment.js'
import type { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'

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
   * deadline that falls within an attempt would leave the outcome uncertain.
   */
  shutsDown?: true
  /** The service has no connection to MongoDB before these requests. */
  cold?: true
}

const always = { times: 1_000_000 }
const threeTimes = { times: 3 }
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

const NO_WRITES = ['RetryableWriteError', 'NoWritesPerformed']

export const scenarios: Scenario[] = [
  // The reply, or the connection, is lost.
  ...(['standalone', 'replica set', 'mongos'] as const).flatMap((as): Scenario[] => [
    { name: 'the reply is lost', as, fault: mongo => mongo.on('insert', loseReply()), statuses: [200, 200] },
    { name: 'every reply is lost, although everything is stored', as, fault: mongo => mongo.on('insert', loseReply(), always), statuses: [504, 504] },
    { name: 'the connection closes before anything is stored', as, fault: mongo => mongo.on('insert', closeBeforeStoring()), statuses: [200, 200] },
    { name: 'every connection closes before anything is stored', as, fault: mongo => mongo.on('insert', closeBeforeStoring(), always), statuses: [504, 504] },
    { name: 'the connection closes after storing', as, fault: mongo => mongo.on('insert', closeAfterStoring()), statuses: [200, 200] },
    { name: 'every connection closes after storing', as, fault: mongo => mongo.on('insert', closeAfterStoring(), always), statuses: [504, 504] },
    { name: 'the connection closes in the middle of the reply', as, fault: mongo => mongo.on('insert', closeWithinReply()), statuses: [200, 200] }
  ]),
  { name: 'closed before storing, then closed after storing', fault: mongo => mongo.on('insert', closeBeforeStoring()).on('insert', closeAfterStoring()), statuses: [200] },
  { name: 'half a reply, three times', fault: mongo => mongo.on('insert', closeWithinReply(), threeTimes), statuses: [200, 200, 200] },
  {
    name: 'every connection closes while the reply is delayed',
    fault: mongo => mongo.on('insert', delayReply(400)),
    during: async mongo => { await after(150); mongo.disconnect() },
    statuses: [200, 200]
  },
  {
    name: 'every connection closes repeatedly before the insert is executed',
    fault: mongo => mongo.on('insert', delay(120), always),
    during: async mongo => { for (let i = 0; i < 6; i++) { await after(60); mongo.disconnect() } },
    statuses: [200, 200]
  },

  // The whole command is refused: what the code and the labels say about what was stored.
  ...[91, 189, 10107, 11600, 11602, 13435, 13436, 6, 7, 89, 262, 9001].flatMap((code): Scenario[] => [
    { name: `error ${code} once`, fault: mongo => mongo.on('insert', answer({ code })), statuses: [200, 200] },
    { name: `error ${code} each time, without a label for the fact that nothing is stored`, fault: mongo => mongo.on('insert', answer({ code }), always), statuses: [504] },
    { name: `error ${code} with NoWritesPerformed each time`, fault: mongo => mongo.on('insert', answer({ code, labels: NO_WRITES }), always), statuses: [503, 503], shutsDown: true }
  ]),
  { name: 'error 91 after storing, once', fault: mongo => mongo.on('insert', answer({ code: 91, stored: true })), statuses: [200, 200] },
  { name: 'error 91 after storing through a mongos, each time', as: 'mongos', fault: mongo => mongo.on('insert', answer({ code: 91, stored: true }), always), statuses: [504, 504] },
  {
    name: 'error 11602 after storing on the primary only, which then rolls back',
    fault: mongo => mongo.on('insert', answer({ code: 11602, stored: true, replicated: false })).on('insert', answer({ code: 11602, labels: NO_WRITES }), always),
    afterwards: mongo => mongo.elect({ rollBack: true }),
    statuses: [504]
  },
  {
    name: 'the reply is lost, and all later attempts store nothing: the outcome stays uncertain',
    fault: mongo => mongo.on('insert', closeAfterStoring()).on('insert', answer({ code: 91, labels: NO_WRITES }), always),
    statuses: [504, 504]
  },
  ...['RetryableWriteError', 'TransientTransactionError', 'NoWritesPerformed', 'RetryableError', 'SystemOverloadedError', 'ResumableChangeStreamError'].map((label): Scenario => ({
    name: `error 462 with the label ${label} three times`, fault: mongo => mongo.on('insert', answer({ code: 462, labels: [label] }), threeTimes), statuses: [200, 200]
  })),
  { name: 'error 462, overloaded, each time', fault: mongo => mongo.on('insert', answer({ code: 462, labels: ['SystemOverloadedError', 'RetryableError', 'NoWritesPerformed'] }), always), statuses: [503], shutsDown: true },
  { name: 'an unknown error after storing, each time', fault: mongo => mongo.on('insert', answer({ code: 99_999, stored: true }), always), statuses: [504] },

  // Permanent refusals, with an immediate response.
  { name: 'no permission to write', fault: mongo => mongo.on('insert', answer({ code: 13 })), statuses: [503, 503], storeTimeout: 60_000 },
  { name: 'a validator refuses one plant', fault: mongo => mongo.on('insert', failing([2], 121)), statuses: [200, 503, 200], storeTimeout: 60_000 },
  {
    name: 'the permission to write is revoked after a lost reply',
    fault: mongo => mongo.on('insert', closeAfterStoring()).on('insert', answer({ code: 13 }), always),
    statuses: [504]
  },
  { name: 'no permission to read, and an id is taken', existing: [{ id: 1, name: 'other' }], fault: mongo => mongo.on('find', answer({ code: 13 }), always), statuses: [504, 200], again: [400, 200] },

  // Write errors by index: the other plants of the batch are stored.
  { name: 'the first plant of the batch fails once', fault: mongo => mongo.on('insert', writeErrors({ at: [0], code: 112 })), statuses: [200, 200, 200] },
  { name: 'one plant fails once', fault: mongo => mongo.on('insert', failing([2], 112)), statuses: [200, 200, 200] },
  { name: 'one plant fails each time', fault: mongo => mongo.on('insert', failing([2], 112), always), statuses: [200, 504, 200] },
  { name: 'one plant fails three times, although it is stored', fault: mongo => mongo.on('insert', failing([3], 91, { stored: true }), threeTimes), statuses: [200, 200, 200] },
  { name: 'the server\'s disk is full', fault: mongo => mongo.on('insert', failing([1, 2], 14031), always), statuses: [504, 504] },

  // The id exists already.
  { name: 'the same plants exist already', existing: [{ id: 1, name: 'plant 1' }, { id: 3, name: 'plant 3' }], fault: () => {}, statuses: [200, 200, 200] },
  { name: 'another plant has the id', existing: [{ id: 2, name: 'other' }], fault: () => {}, statuses: [200, 400, 200], again: [200, 400, 200] },
  {
    name: 'another plant has the id, and replies are lost', existing: [{ id: 2, name: 'other' }], fault: mongo => mongo.on('insert', closeAfterStoring(), threeTimes), statuses: [200, 400, 200], again: [200, 400, 200]
  },
  {
    name: 'another plant has the id on the primary only, and is rolled back',
    existing: [{ id: 1, name: 'other', local: true }],
    fault: () => {},
    during: async mongo => { await after(200); mongo.rollBack(); mongo.resumeReplication() },
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
  { name: 'the same plant remains on the primary only', existing: [{ id: 1, name: 'plant 1', local: true }], fault: () => {}, statuses: [504, 504] },
  {
    name: 'the same plant exists on the primary only, and is rolled back after the response',
    existing: [{ id: 1, name: 'plant 1', local: true }],
    fault: () => {},
    afterwards: mongo => mongo.elect({ rollBack: true }),
    statuses: [504]
  },
  {
    name: 'the same plant exists on the primary only, and is rolled back by an election',
    existing: [{ id: 1, name: 'plant 1', local: true }],
    fault: () => {},
    during: async mongo => { await after(200); mongo.elect({ rollBack: true }); mongo.resumeReplication() },
    statuses: [200]
  },

  // The id exists already, and reading it back fails.
  { name: 'the read-back fails once', existing: [{ id: 1, name: 'plant 1' }], fault: mongo => mongo.on('find', answer({ code: 11600 })), statuses: [200, 200] },
  { name: 'the read-back fails each time', existing: [{ id: 1, name: 'plant 1' }], fault: mongo => mongo.on('find', answer({ code: 134 }), always), statuses: [504, 200] },
  { name: 'the read-back hangs each time', existing: [{ id: 1, name: 'plant 1' }], fault: mongo => mongo.on('find', hang(), always), statuses: [504] },
  { name: 'the connection closes in the middle of the read-back', existing: [{ id: 1, name: 'other' }], fault: mongo => mongo.on('find', closeWithinReply()), statuses: [400, 200], again: [400, 200] },
  { name: 'the primary steps down during the read-back', existing: [{ id: 1, name: 'plant 1' }], fault: mongo => mongo.on('find', stepDown({ electAfter: 300 })), statuses: [200, 200] },
  { name: 'the read-back finds nothing, once', existing: [{ id: 1, name: 'other' }], fault: mongo => mongo.on('find', findsNothing), statuses: [400], again: [400] },
  { name: 'the read-back finds nothing, each time', existing: [{ id: 1, name: 'plant 1' }], fault: mongo => mongo.on('find', findsNothing, always), statuses: [504] },

  // Stored, but not on the majority: the write can be rolled back.
  ...[64, 79, 91, 100, 189, 11600, 11602].flatMap((code): Scenario[] => [
    {
      name: `write concern error ${code}, rolled back immediately`,
      fault: mongo => mongo.on('insert', writeConcernError({ code }), { times: 1 }),
      during: async mongo => { await after(10); mongo.elect({ rollBack: true }) },
      statuses: [200, 200]
    },
    {
      name: `write concern error ${code} each time, rolled back afterwards`,
      fault: mongo => mongo.on('insert', writeConcernError({ code }), always).on('find', answer({ code: 134 }), always),
      afterwards: mongo => mongo.elect({ rollBack: true }),
      statuses: [504]
    }
  ]),
  { name: 'a write concern error for a write that reached the majority', fault: mongo => mongo.on('insert', writeConcernError({ code: 64, majority: true })), statuses: [200, 200] },
  {
    name: 'a write concern error together with a taken id', existing: [{ id: 2, name: 'other' }], fault: mongo => mongo.on('insert', writeConcernError({ code: 64, majority: true })), statuses: [200, 400, 200], again: [200, 400, 200]
  },
  { name: 'only the primary stores the write, three times', fault: mongo => mongo.on('insert', unreplicated(), threeTimes), statuses: [200, 200] },
  {
    name: 'replication stops for half a second',
    fault: mongo => mongo.pauseReplication(),
    during: async mongo => { await after(500); mongo.resumeReplication() },
    statuses: [200, 200]
  },
  {
    name: 'replication stops, and the primary is replaced by one without the write',
    fault: mongo => mongo.pauseReplication(),
    during: async mongo => { await after(200); mongo.elect({ rollBack: true }); mongo.resumeReplication() },
    statuses: [200, 200]
  },
  { name: 'replication stops', fault: mongo => mongo.pauseReplication(), afterwards: mongo => mongo.elect({ rollBack: true }), statuses: [504, 504] },

  // A mongos loses a shard.
  { name: 'a shard fails once, nothing stored', as: 'mongos', fault: mongo => mongo.on('insert', shardFailure()), statuses: [200, 200, 200] },
  { name: 'a shard fails once, some stored', as: 'mongos', fault: mongo => mongo.on('insert', shardFailure({ from: 1, storedFirst: 1 })), statuses: [200, 200, 200] },
  { name: 'a shard times out after storing all', as: 'mongos', fault: mongo => mongo.on('insert', shardFailure({ code: 89, storedFirst: 3 })), statuses: [200, 200, 200] },
  { name: 'a shard is unavailable', as: 'mongos', fault: mongo => mongo.on('insert', failing([2, 3], 6), always), statuses: [200, 504, 504] },
  { name: 'a shard becomes unavailable, having stored its documents', as: 'mongos', fault: mongo => mongo.on('insert', failing([1, 3], 6, { stored: true }), always), statuses: [504, 200, 504] },
  { name: 'a shard\'s primary steps down', as: 'mongos', fault: mongo => mongo.on('insert', shardFailure({ code: 11602, storedFirst: 2 }), threeTimes), statuses: [200, 200, 200] },

  // Elections.
  { name: 'the primary steps down during the insert', fault: mongo => mongo.on('insert', stepDown({ electAfter: 300 })), statuses: [200, 200] },
  { name: 'the primary steps down after storing, and the next primary has the write', fault: mongo => mongo.on('insert', stepDown({ electAfter: 300, stored: true })), statuses: [200, 200] },
  { name: 'the primary steps down after storing, and the next primary does not have the write', fault: mongo => mongo.on('insert', stepDown({ electAfter: 300, stored: true, rollBack: true })), statuses: [200, 200] },
  { name: 'the primary steps down and closes its connections', fault: mongo => mongo.on('insert', stepDown({ electAfter: 300, stored: true, rollBack: true, closeConnections: true })), statuses: [200, 200] },
  { name: 'an election of 2 s', fault: mongo => mongo.on('insert', stepDown({ electAfter: 2_000, stored: true, rollBack: true })), statuses: [200, 200] },
  { name: 'an election of 5 s', fault: mongo => mongo.on('insert', stepDown({ electAfter: 5_000, closeConnections: true })), statuses: [200, 200], storeTimeout: 8_000 },
  {
    name: 'three elections, one after the other',
    fault: mongo => [100, 200, 300].forEach(electAfter => mongo.on('insert', stepDown({ electAfter, stored: true, rollBack: electAfter === 200 }))),
    statuses: [200, 200]
  },
  { name: 'an election that takes longer than STORE_TIMEOUT', fault: mongo => mongo.on('insert', stepDown({ electAfter: 2_500, stored: true })), statuses: [504, 504], afterwards: () => after(1_500) },
  { name: 'there is no primary: nothing is sent', fault: async mongo => { await after(700); mongo.stepDown({ electAfter: 4_000 }); await after(500) }, statuses: [503, 503], afterwards: () => after(2_500) },
  { name: 'there is no primary for half a second', fault: mongo => { mongo.stepDown({ electAfter: 500 }) }, statuses: [200, 200] },
  {
    name: 'the primary hangs, and another is elected',
    fault: mongo => { mongo.primary?.hang() },
    during: async mongo => { await after(300); mongo.elect() },
    statuses: [200, 200]
  },
  {
    name: 'the primary dies, and the next primary does not have the write',
    fault: mongo => mongo.on('insert', inOrder(delayReply(300), unreplicated())),
    during: async mongo => {
      await after(100)
      await mongo.primary?.stop()
      await after(200)
      mongo.elect({ rollBack: true })
    },
    statuses: [200, 200]
  },
  { name: 'a secondary dies', fault: mongo => mongo.members.find(member => !member.isPrimary)?.stop(), statuses: [200] },

  // Silence.
  ...(['standalone', 'replica set', 'mongos'] as const).map((as): Scenario => (
    { name: 'MongoDB hangs, and later executes the requests', as, fault: mongo => mongo.hang(), statuses: [504, 504] }
  )),
  { name: 'MongoDB hangs, and never executes the requests', fault: mongo => mongo.hang(), afterwards: mongo => mongo.resume({ forget: true }), statuses: [504, 504] },
  { name: 'MongoDB hangs before there is a connection', cold: true, fault: mongo => mongo.hang(), statuses: [504, 504] },
  { name: 'MongoDB hangs for 0.6 s', fault: mongo => mongo.hang(), during: async mongo => { await after(600); mongo.resume() }, statuses: [200, 200] },
  { name: 'MongoDB hangs for 1 s, and never executes the requests', as: 'standalone', fault: mongo => mongo.hang(), during: async mongo => { await after(1_000); mongo.resume({ forget: true }) }, statuses: [200, 200] },
  { name: 'one insert hangs', fault: mongo => mongo.on('insert', hang()), statuses: [200, 200] },
  { name: 'every insert hangs', fault: mongo => mongo.on('insert', hang(), always), statuses: [504, 504] },
  { name: 'an insert is executed after its deadline', fault: mongo => mongo.on('insert', delay(1_700), always), afterwards: () => after(500), statuses: [504, 504] },
  { name: 'every reply is delayed by 300 ms', as: 'mongos', fault: mongo => mongo.delayAnswers(300), afterwards: mongo => mongo.delayAnswers(0), statuses: [200, 200] },

  // Starts and stops.
  { name: 'MongoDB is not running', as: 'standalone', cold: true, fault: async mongo => await mongo.stop(), statuses: [503, 503] },
  { name: 'MongoDB starts half a second late', cold: true, fault: async mongo => await mongo.stop(), during: async mongo => { await after(500); await mongo.start() }, statuses: [200, 200] },
  { name: 'MongoDB stops', as: 'standalone', fault: async mongo => { await mongo.stop(); await after(300) }, statuses: [503, 503] },
  { name: 'MongoDB restarts', as: 'standalone', fault: async mongo => await mongo.stop(), during: async mongo => { await after(400); await mongo.start() }, statuses: [200, 200] },
  {
    name: 'MongoDB restarts while a reply is delayed',
    fault: mongo => mongo.on('insert', delayReply(400)),
    during: async mongo => { await after(150); await mongo.stop(); await after(300); await mongo.start() },
    statuses: [200, 200]
  },

  // Many requests: 300 of them are several batches in flight.
  {
    name: 'the replies to many batches are lost',
    fault: mongo => mongo.on('insert', inOrder(delayReply(60), closeAfterStoring()), { times: 6 }),
    statuses: new Array(300).fill(200)
  },
  {
    name: 'many batches, and a step-down that rolls back',
    fault: mongo => mongo.on('insert', inOrder(delay(30), unreplicated())).on('insert', stepDown({ stored: true, rollBack: true, electAfter: 400, closeConnections: true })),
    statuses: new Array(300).fill(200)
  },
  {
    name: 'all pooled connections are discarded five times',
    fault: mongo => mongo.on('insert', answer({ code: 91 }), { times: 5 }),
    statuses: new Array(200).fill(200)
  },
  {
    name: 'every third plant fails, different ones each time',
    as: 'mongos',
    fault: mongo => [0, 1, 2].forEach(rest => mongo.on('insert', failing(Array.from({ length: 100 }, (_, i) => i * 3 + rest), 6, { stored: rest === 1 }))),
    statuses: new Array(200).fill(200)
  }
]
