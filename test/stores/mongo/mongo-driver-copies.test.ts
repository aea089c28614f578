import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { MongoWriter } from '../../../src/stores/mongo/mongo-writer.js'
import type { Cue } from '../../support/scripted-mongodb/cue.js'
import { answer, closeAfterStoring, hang, writeConcernError, writeErrors } from '../../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'

const require = createRequire(import.meta.url)

/** A second copy of the driver, as npm may install it for a host: other classes with the same names. */
function anotherDriver (t: Test): typeof import('mongodb') {
  const copy = join(t.testdir(), 'node_modules', 'mongodb')
  cpSync(dirname(require.resolve('mongodb/package.json')), copy, { recursive: true })
  return require(copy)
}

t.test('errors from another copy of the driver are handled like those from the package\'s own', async t => {
  const other = anotherDriver(t)
  t.not(other.MongoClient, MongoClient)
  const mongo = await ScriptedMongo.start(t)
  const client = new other.MongoClient(mongo.url, { monitorCommands: true, retryWrites: false })
  t.teardown(() => client.close())
  const writer = new MongoWriter(client.db('plant_store').collection('plants'))
  const write = (timeoutMs = 60_000) => writer.write([{ id: 1n, name: 'Ficus' }], performance.now() + timeoutMs)
  const cases: [name: string, cue: Cue, result: object][] = [
    ['Unauthorized', answer({ code: 13, message: 'not authorized' }), { name: 'PlantNotStored', permanent: true, message: 'MongoDB: not authorized' }],
    ['a validator', writeErrors({ at: [0], code: 121 }), [{ name: 'PlantNotStored', permanent: true }]],
    ['a label', answer({ code: 112, labels: ['NoWritesPerformed'] }), { name: 'PlantNotStored', permanent: false }],
    ['no label', answer({ code: 112 }), { name: 'PlantOutcomeUnknown' }],
    ['a write concern error', writeConcernError({ code: 64 }), [{ name: 'PlantOutcomeUnknown', message: /write concern error 64/ }]],
    ['a lost connection', closeAfterStoring(), { name: 'PlantOutcomeUnknown' }]
  ]
  for (const [name, cue, result] of cases) {
    mongo.on('insert', cue)
    t.match(await write(), result, name)
  }
  t.strictSame(await write(), ['same'])
  mongo.on('insert', hang())
  t.match(await write(2_000), { name: 'PlantOutcomeUnknown' }, 'no response')
  await writer.close()
})

t.test('a server that another copy of the driver cannot reach is known to be unreachable', async t => {
  const other = anotherDriver(t)
  const mongo = await ScriptedMongo.start(t)
  const client = new other.MongoClient(mongo.url, { serverSelectionTimeoutMS: 1_000, monitorCommands: true })
  t.teardown(() => client.close())
  await client.connect()
  await mongo.stop()
  const fault = async () => await client.db().command({ ping: 1 }).then(() => undefined, (error: Error) => error.name)
  while (await fault() !== 'MongoServerSelectionError');
  const writer = new MongoWriter(client.db('plant_store').collection('plants'))
  t.match(await writer.write([{ id: 1n, name: 'Ficus' }], performance.now() + 60_000), { name: 'PlantNotStored', message: /^MongoDB is not reachable: .*ECONNREFUSED/ })
  await t.rejects(writer.check(), { message: /^MongoDB is not reachable/ })
  await writer.close()
})

t.test('only a store with a URL loads the driver', async t => {
  const entry = new URL('../../../src/index.js', import.meta.url)
  const script = `
    const { createRequire } = await import('node:module')
    const { mongoPlantStore, sqlitePlantStore } = await import(process.argv[1])
    const { cache } = createRequire(process.argv[2])
    const loaded = () => Object.keys(cache).filter(path => /node_modules.(mongodb|bson).lib/.test(path)).length > 0
    const counts = [loaded()]
    sqlitePlantStore({ path: 'plants.db' })
    const client = { options: {}, db: () => db }
    const collection = { collectionName: 'plants', get db () { return db } }
    const db = { client, collection: () => collection }
    for (const options of [{ client }, { db }, { collection }]) mongoPlantStore(options)
    counts.push(loaded())
    mongoPlantStore({ url: 'mongodb://127.0.0.1/' })
    counts.push(loaded())
    console.log(JSON.stringify(counts))`
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script, entry.href, fileURLToPath(entry)], {
    encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' }
  })
  t.strictSame(JSON.parse(output), [false, false, true])
})
