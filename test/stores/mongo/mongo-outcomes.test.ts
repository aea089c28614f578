import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { MongoClient, MongoNetworkTimeoutError, MongoServerSelectionError, type TopologyDescription } from 'mongodb'
import t, { type Test } from 'tap'
import { connectionFault, wasSilent } from '../../../src/stores/mongo/mongo-errors.js'
import { commandFailure } from '../../../src/stores/mongo/mongo-outcomes.js'
import { MongoWriter } from '../../../src/stores/mongo/mongo-writer.js'
import type { NewPlant } from '../../../src/plant-store.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, hang, writeConcernError, writeErrors, type Cue
} from '../../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'

const require = createRequire(import.meta.url)
const FICUS: NewPlant = { id: 1n, name: 'Ficus', tag: 'a tag that no message may contain' }

/** The package's own copy of the driver, and another, as npm may install it for a host: other classes, same names. */
function driverCopies (t: Test): [name: string, driver: typeof import('mongodb')][] {
  const copy = join(t.testdir(), 'node_modules', 'mongodb')
  cpSync(dirname(require.resolve('mongodb/package.json')), copy, { recursive: true })
  const other = require(copy)
  t.not(other.MongoClient, MongoClient)
  return [['the package\'s own driver', require('mongodb')], ['another copy of the driver', other]]
}

async function writerOn (t: Test, mongo: ScriptedMongo, driver: typeof import('mongodb'), options = {}): Promise<MongoWriter> {
  const client = new driver.MongoClient(mongo.url, { monitorCommands: true, retryWrites: false, ...options })
  t.teardown(() => client.close())
  await client.connect()
  const writer = new MongoWriter(client.db('plant_store').collection('plants'))
  t.teardown(() => writer.close())
  return writer
}

const refused = (message: RegExp | string) => ({ name: 'PlantNotStored', permanent: true, message })
const notStored = { name: 'PlantNotStored', permanent: false }
const unknown = (message: RegExp | string = /./) => ({ name: 'PlantOutcomeUnknown', message })
const duplicate = writeErrors({ at: [0], code: 11000, message: `dup key: { name: "${FICUS.name}" }` })

/** What MongoDB does with the insert of one plant, and the results. */
const inserts: [name: string, insert: Cue, result: object][] = [
  ...[13, 18, 121].flatMap((code): typeof inserts => [
    [`error ${code}`, answer({ code, message: 'not authorized' }), refused('MongoDB: not authorized')],
    [`write error ${code}`, writeErrors({ at: [0], code, message: `{ tag: "${FICUS.tag}" }` }), [refused(`MongoDB: write error ${code}`)]]
  ]),
  ['another unique index refuses it', duplicate, [refused('MongoDB: another unique index of the collection refuses it')]],
  ['an error with NoWritesPerformed', answer({ code: 112, labels: ['NoWritesPerformed'] }), notStored],
  ['an error without a label', answer({ code: 11602 }), unknown()],
  ['a write error', writeErrors({ at: [0], code: 2, message: 'bad value' }), [unknown('MongoDB: write error 2 (bad value)')]],
  ['a duplicate that the majority does not have, of a server that does not name the index',
    () => ({ ok: 1, n: 0, writeErrors: [{ index: 0, code: 11000, errmsg: 'duplicate key' }] }), [unknown(/not on the majority yet/)]],
  ['a write concern error', writeConcernError({ code: 64, message: 'timed out' }), [unknown('MongoDB: write concern error 64 (timed out)')]],
  ['the connection closes before storing', closeBeforeStoring(), unknown()],
  ['the connection closes after storing', closeAfterStoring(), unknown()],
  ['it hangs', hang(), unknown('MongoDB: no response in time')]
]

t.test('a plant has the outcome that the evidence allows, whichever copy of the driver the host has', async t => {
  for (const [name, driver] of driverCopies(t)) {
    const mongo = await ScriptedMongo.start(t)
    const writer = await writerOn(t, mongo, driver)
    let id = 0n
    const write = (count = 1) => {
      const plants = Array.from({ length: count }, () => ({ ...FICUS, id: ++id }))
      return writer.write(plants, performance.now() + 2_000)
    }
    for (const [what, insert, result] of inserts) {
      mongo.on('insert', insert)
      t.match(await write(), result, `${name}: ${what}`)
    }
    mongo.on('insert', writeErrors({ at: [1], code: 121 }))
    t.match(await write(3), ['stored', refused(/121/), 'stored'], `${name}: one plant of a batch is refused`)
    mongo.on('insert', writeErrors({ at: [1, 2], code: 6 }))
    t.match(await write(3), ['stored', unknown(), unknown()], `${name}: a shard is lost`)
    const [again, other] = [{ ...FICUS, id }, { ...FICUS, id: id - 2n, name: 'Fern' }]
    t.match(await writer.write([again, other], performance.now() + 2_000), ['stored', 'taken'], `${name}: sent again`)
    mongo.on('insert', duplicate)
    t.match(await writer.write([again], performance.now() + 2_000), ['same'], `${name}: another unique index refuses a stored plant`)
    mongo.on('find', answer({ code: 11602, message: 'interrupted' }), { times: 2 })
    const unread = await writer.write([again], performance.now() + 2_000)
    t.match(unread, [unknown('MongoDB: a plant with this id exists, but could not be read: MongoDB: interrupted')], name)
  }
})

t.test('a server that a host\'s driver cannot reach is known to be unreachable', async t => {
  for (const [, driver] of driverCopies(t)) {
    const mongo = await ScriptedMongo.start(t)
    const writer = await writerOn(t, mongo, driver, { serverSelectionTimeoutMS: 500 })
    await mongo.stop()
    const isUnreachable = { message: /^MongoDB is not reachable: .*ECONNREFUSED/ }
    // The driver notices it with the first command.
    await t.rejects(writer.check())
    await t.rejects(writer.check(), isUnreachable)
    t.match(await writer.write([FICUS], performance.now() + 60_000), { name: 'PlantNotStored', ...isUnreachable })
  }
})

t.test('with a client that does not monitor commands, a broken connection leaves the outcome unknown', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo, require('mongodb'), { monitorCommands: false })
  mongo.on('insert', closeBeforeStoring())
  t.match(await writer.write([FICUS], performance.now() + 2_000), unknown())
})

type Server = Partial<{ address: string, type: string, error: Error | null }>
const failed = (...servers: Server[]) => new MongoServerSelectionError('timed out', {
  servers: new Map(servers.map((server, place) => [place, server]))
} as unknown as TopologyDescription)
const withoutReason = Object.defineProperty(failed(), 'reason', { value: undefined })

t.test('a silent MongoDB is distinguished from one that is known to be unreachable', async t => {
  const silence = new MongoNetworkTimeoutError('connection timed out')
  const away = { error: new Error('connect ECONNREFUSED'), type: 'Unknown' }
  t.ok(wasSilent(silence))
  t.ok(wasSilent(Object.assign(new Error('no connection'), { name: 'MongoWaitQueueTimeoutError' })))
  t.ok(wasSilent(failed(away, { error: silence, type: 'Unknown' })))
  t.ok(wasSilent(failed({ error: null, type: 'Unknown' })), 'no response even to the handshake')
  const others = [new Error('socket hang up'), failed(away), failed({ error: null, type: 'RSSecondary' }), failed(), withoutReason]
  for (const error of others) t.notOk(wasSilent(error))
  t.match(commandFailure(silence, true), unknown(), 'as STORE_TIMEOUT is over before it is known to be unreachable')
  t.match(commandFailure(failed(away), true), notStored)
})

t.test('the reason why MongoDB is unreachable is one line', async t => {
  const lines: [error: Error, line: string][] = [
    [new Error('socket hang up'), 'MongoDB: socket hang up'],
    [failed({ address: 'a:1', error: new Error('connect ECONNREFUSED a:1') }, { address: 'b:2', error: new Error('no route') }),
      'MongoDB is not reachable: connect ECONNREFUSED a:1; b:2: no route'],
    [failed({ address: 'a:1', error: null, type: 'RSSecondary' }), 'MongoDB is not reachable: a:1 is RSSecondary'],
    [failed(), 'MongoDB is not reachable: timed out'],
    [withoutReason, 'MongoDB: timed out'],
    [Object.assign(new Error('refused'), { reason: 'a field of the server\'s' }), 'MongoDB: refused']
  ]
  for (const [error, line] of lines) t.equal(connectionFault(error), line)
})
