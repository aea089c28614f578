import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  MongoClient, MongoNetworkTimeoutError, MongoServerError, MongoServerSelectionError, type Collection,
  type TopologyDescription
} from 'mongodb'
import t, { type Test } from 'tap'
import { faultOf, wasSilent } from '../../../src/stores/mongo/mongo-errors.js'
import { commandFailure } from '../../../src/stores/mongo/mongo-outcomes.js'
import { MongoWriter } from '../../../src/stores/mongo/mongo-writer.js'
import type { NewPlant } from '../../../src/stores/plant-store.js'
import {
  answer, closeAfterStoring, closeBeforeStoring, hang, writeConcernError, writeErrors, type Cue
} from '../../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'

const require = createRequire(import.meta.url)
const FICUS: NewPlant = { id: 1n, name: 'Ficus', tag: 'a tag that no message may contain' }

// The package's own copy of the driver, and another, as npm may install it for a host: other classes, same names.
const copy = join(t.testdir(), 'node_modules', 'mongodb')
cpSync(dirname(require.resolve('mongodb/package.json')), copy, { recursive: true })
const drivers: [name: string, driver: typeof import('mongodb')][] =
  [['the package\'s own driver', require('mongodb')], ['another copy of the driver', require(copy)]]
t.not(drivers[0]?.[1].MongoClient, drivers[1]?.[1].MongoClient)

async function writerOn (t: Test, mongo: ScriptedMongo, driver: typeof import('mongodb'), options = {}): Promise<MongoWriter> {
  const client = new driver.MongoClient(mongo.url, { monitorCommands: true, retryWrites: false, ...options })
  t.teardown(() => client.close())
  await client.connect()
  const writer = new MongoWriter(client.db('plant_store').collection('plants'))
  t.teardown(() => writer.close())
  return writer
}

/** A writer whose client is its own, and the clients that it has made. */
function ownClientOn (t: Test, mongo: ScriptedMongo): { writer: MongoWriter, clients: readonly MongoClient[] } {
  const clients: MongoClient[] = []
  const connect = (): Collection => {
    const client = new MongoClient(mongo.url, { monitorCommands: true, serverSelectionTimeoutMS: 300 })
    clients.push(client)
    return client.db('plant_store').collection('plants')
  }
  const writer = new MongoWriter(connect(), connect)
  t.teardown(() => Promise.all([writer.close(), ...clients.map(client => client.close())]))
  return { writer, clients }
}

const refused = (message: RegExp | string) => ({ name: 'PlantNotStored', permanent: true, message })
const notStored = { name: 'PlantNotStored', permanent: false }
const unknown = (message: RegExp | string = /./) => ({ name: 'PlantOutcomeUnknown', message })
/** As MongoDB words it: with the command, and so the plants, or with the document. */
const message = `refused: { name: "${FICUS.name}", tag: "${FICUS.tag}" }`
const duplicate = writeErrors({ at: [0], code: 11000, message })

/** What MongoDB does with the insert of one plant, and the results. */
const inserts: [name: string, insert: Cue, result: object][] = [
  ['another unique index refuses it', duplicate, [refused('MongoDB: another unique index of the collection refuses it')]],
  ['an error with NoWritesPerformed', answer({ code: 112, labels: ['NoWritesPerformed'] }), notStored],
  ['an error that the server says is worth another try', answer({ code: 9999, labels: ['RetryableError'], message }), unknown('MongoDB: error 9999')],
  ['an error without a code', answer({ code: undefined, message }), unknown('MongoDB: error without a code')],
  ['a duplicate that the majority does not have, of a server that does not name the index',
    () => ({ ok: 1, n: 0, writeErrors: [{ index: 0, code: 11000, errmsg: message }] }), [unknown(/not on the majority yet/)]],
  ['a duplicate as the error of the command', answer({ code: 11000, message }), [unknown(/not on the majority yet/)]],
  ['a write concern error', writeConcernError({ code: 64, message }), [unknown('MongoDB: write concern error 64')]],
  ['the connection closes before storing', closeBeforeStoring(), unknown()],
  ['the connection closes after storing', closeAfterStoring(), unknown()],
  ['it hangs', hang(), unknown('MongoDB: no response in time')]
]

t.test('a plant has the outcome that the evidence allows, whichever copy of the driver the host has', async t => {
  for (const [name, driver] of drivers) {
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
    mongo.on('insert', writeErrors({ at: [1, 2], code: 6 }))
    t.match(await write(3), ['stored', unknown(), unknown()], `${name}: a shard is lost`)
    const [again, other] = [{ ...FICUS, id }, { ...FICUS, id: id - 2n, name: 'Fern' }]
    t.match(await writer.write([again, other], performance.now() + 2_000), ['stored', 'taken'], `${name}: sent again`)
    for (const insert of [duplicate, answer({ code: 11000, message })]) {
      mongo.on('insert', insert)
      t.match(await writer.write([again], performance.now() + 2_000), ['same'], `${name}: a stored plant is a duplicate`)
    }
    mongo.on('find', answer({ code: 11602, message }), { times: 2 })
    const unread = await writer.write([again], performance.now() + 2_000)
    t.match(unread, [unknown('MongoDB: a plant with this id exists, but could not be read: MongoDB: error 11602')], name)
  }
})

const REFUSE = [2, 13, 18, 20, 26, 59, 73, 121, 166, 371, 8000, 9999, 10334, 13297, 14031]
const LEAVE_OPEN = [
  1, 6, 7, 8, 24, 46, 50, 64, 79, 89, 91, 96, 100, 112, 125, 150, 189, 262, 290, 9001, 10107, 11600, 11601, 11602,
  13388, 13435, 13436
]

t.test('an error code refuses plants for good, or leaves their outcome open: those of the command, or that of one document', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo, require('mongodb'))
  let id = 0n
  const write = () => writer.write([1, 2, 3].map(() => ({ ...FICUS, id: ++id })), performance.now() + 2_000)
  for (const code of [...REFUSE, ...LEAVE_OPEN]) {
    const expected = REFUSE.includes(code) ? refused : unknown
    mongo.on('insert', answer({ code, codeName: 'Name', message }))
    t.match(await write(), expected(`MongoDB: error ${code} (Name)`))
    mongo.on('insert', writeErrors({ at: [1], code, codeName: 'Name', message }))
    t.match(await write(), ['stored', expected(`MongoDB: write error ${code} (Name)`), 'stored'])
  }
  for (const code of [13, 371, 8000, 14031]) {
    mongo.on('insert', writeErrors({ at: [0, 1, 2], code, message }))
    t.match(await write(), refused(`MongoDB: write error ${code}`), 'each document, but for no fault of the plants: the store refuses')
  }
  mongo.on('insert', writeErrors({ at: [0, 1, 2], code: 121, message }))
  t.type(await write(), Array, 'each plant is refused for itself')
})

t.test('a thorough check does what a write needs, and changes nothing', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo, require('mongodb'))
  const unauthorized = answer({ code: 13, codeName: 'Unauthorized', message })
  const cues: [command: string, cue: Cue, message?: string][] = [
    ['insert', unauthorized, 'MongoDB: error 13 (Unauthorized)'],
    ['insert', answer({ code: 16, message: 'there is nothing to insert' })],
    ['update', unauthorized, 'MongoDB: error 13 (Unauthorized)'],
    ['update', () => ({ ok: 1, n: 0, writeErrors: [{ index: 0, code: 371, errmsg: message }] }), 'MongoDB: error 371'],
    ['ping', unauthorized]
  ]
  for (const [command, cue, expected] of cues) {
    mongo.on(command, cue)
    t.equal(await writer.check(true).then(() => undefined, ({ message }) => message), expected, command)
  }
  await t.rejects(writer.check(false), { message: 'MongoDB: error 13 (Unauthorized)' }, 'otherwise it is a ping')
  t.equal(mongo.plants().size, 0)
})

t.test('a server that a host\'s driver cannot reach is known to be unreachable', async t => {
  for (const [, driver] of drivers) {
    const mongo = await ScriptedMongo.start(t)
    const writer = await writerOn(t, mongo, driver, { serverSelectionTimeoutMS: 500 })
    await mongo.stop()
    const isUnreachable = { message: /^MongoDB is not reachable: .*ECONNREFUSED/ }
    // The driver notices it with the first command.
    await t.rejects(writer.check(false))
    await t.rejects(writer.check(false), isUnreachable)
    t.match(await writer.write([FICUS], performance.now() + 60_000), { ...notStored, ...isUnreachable })
  }
})

t.test('a client of the store\'s own that finds no server is replaced only if it never connected', async t => {
  const mongo = await ScriptedMongo.start(t)
  const { writer, clients } = ownClientOn(t, mongo)
  await writer.check(false)
  await mongo.stop()
  // The driver notices it with the first command.
  for (let turn = 0; turn < 3; turn++) await t.rejects(writer.check(false))
  t.equal(clients.length, 1, 'its monitor still looks for the server')
  const never = ownClientOn(t, mongo)
  await t.rejects(never.writer.check(false))
  t.equal(never.clients.length, 2)
})

t.test('a client whose first connection fails only after its command was given up is replaced, too', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const { writer, clients } = ownClientOn(t, mongo)
  t.match(await writer.write([FICUS], performance.now() + 100), { message: 'MongoDB: no response in time' })
  await sleep(600)
  await mongo.start()
  await t.rejects(writer.check(false), 'the driver has closed this client')
  await t.resolves(writer.check(false))
  t.equal(clients.length, 2)
})

t.test('with a client that does not monitor commands, a broken connection leaves the outcome unknown', async t => {
  const mongo = await ScriptedMongo.start(t)
  const writer = await writerOn(t, mongo, require('mongodb'), { monitorCommands: false })
  mongo.on('insert', closeBeforeStoring())
  t.match(await writer.write([FICUS], performance.now() + 2_000), unknown())
})

type Server = Partial<{ address: string, type: string, error: Error | null }>
const failed = (...servers: Server[]) => new MongoServerSelectionError('timed out', {
  servers: new Map(servers.map((server, index) => [index, server]))
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

t.test('the reason why MongoDB is unreachable is one line, without what a server words', async t => {
  const refusal = new MongoServerError({ ok: 0, code: 18, codeName: 'AuthenticationFailed', errmsg: message })
  const lines: [error: Error, line: string][] = [
    [new Error('socket hang up'), 'MongoDB: socket hang up'],
    [failed({ address: 'a:1', error: new Error('connect ECONNREFUSED a:1') }, { address: 'b:2', error: refusal }),
      'MongoDB is not reachable: a:1: connect ECONNREFUSED a:1; b:2: error 18 (AuthenticationFailed)'],
    [failed({ address: 'a:1', error: null, type: 'RSSecondary' }), 'MongoDB is not reachable: a:1: RSSecondary'],
    [failed(), 'MongoDB is not reachable: timed out'],
    [withoutReason, 'MongoDB: timed out'],
    [new Error(`the pool was cleared because of "${message}"`, { cause: refusal }), 'MongoDB: error 18 (AuthenticationFailed)'],
    [Object.assign(new Error('refused'), { reason: 'a field of the server\'s' }), 'MongoDB: refused']
  ]
  for (const [error, line] of lines) t.equal(faultOf(error), line)
  t.match(commandFailure(failed({ address: 'a:1', error: refusal }), true), refused(/^MongoDB is not reachable: a:1: error 18/), 'every server refuses the user')
  const oneOfTwo = failed({ address: 'a:1', error: refusal }, { address: 'b:2', error: new Error('connect ECONNREFUSED') })
  t.match(commandFailure(oneOfTwo, true), notStored)
})
