import { BSON, Decimal128, Double, MongoClient, ObjectId, type Collection, type Document } from 'mongodb'
import t, { type Test } from 'tap'
import { mongoSource } from '../../src/service/commands/sources/mongo-source.js'
import { CopyError } from '../../src/service/commands/sources/plant-source.js'
import { answer, closeBeforeStoring, type Cue } from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { NO_UTF8 } from '../support/scripted-mongodb/wire.js'
import { entriesOf } from './plants.js'

async function mongoWith (t: Test, documents: object[]): Promise<{ mongo: ScriptedMongo, collection: Collection }> {
  const mongo = await ScriptedMongo.start(t)
  const client = await MongoClient.connect(mongo.url)
  t.teardown(() => client.close())
  const collection = client.db('plant_store').collection('plants')
  await collection.insertMany(documents)
  return { mongo, collection }
}

const many = (count: number, from = 0): Document[] =>
  Array.from({ length: count }, (_, i) => ({ _id: from + i, name: 'Monstera' }))

t.test('every document of the majority is read; one that is not a valid plant is named by its id', async t => {
  const { mongo, collection } = await mongoWith(t, [
    { _id: 1, name: 'an int32' }, { _id: new Double(2), name: 'a double', tag: 't' },
    { _id: -(2n ** 63n), name: 'a long', color: 'green' }, { _id: 2n ** 63n - 1n, name: 'the highest' },
    { _id: Decimal128.fromString('1.0E+1'), name: 'a decimal' }, { _id: 11n, name: '\ufffd', color: NO_UTF8 },
    { _id: 4n, name: 4 }, { _id: 5n, name: 'five', tag: null }, { _id: 12n, name: NO_UTF8 },
    { _id: 13n, name: new BSON.BSONSymbol('a symbol') }, { _id: 14n, name: 'fourteen', tag: 14 },
    { _id: 6.5, name: 'six' }, { _id: Decimal128.fromString('6.75'), name: 'a fraction' },
    { _id: Decimal128.fromString('NaN'), name: 'no decimal' },
    { _id: 1e300, name: 'beyond' }, { _id: new Double(-Infinity), name: 'below' },
    { _id: new Double(NaN), name: 'no number' }, { _id: 'seven', name: 'seven' },
    { _id: new ObjectId('6b02e41628411e28e5d85aa5'), name: 'eight' }
  ])
  mongo.on('insert', (_context, execute) => execute({ replicated: false }))
  await collection.insertMany([{ _id: 3n, name: 'not on the majority' } as Document], { writeConcern: { w: 1 } })
  const entries = await entriesOf(mongoSource(mongo.url))
  const int64 = 'id must be an integer from -9223372036854775808 to 9223372036854775807 (int64): ' +
    'a JSON number, not a string'
  const text = 'must be a string of well-formed Unicode'
  t.strictSame(entries.map(({ where, plant }) => [where, plant]), [
    ['id -9223372036854775808', { id: -(2n ** 63n), name: 'a long' }],
    ['id 1', { id: 1n, name: 'an int32' }],
    ['id 2', { id: 2n, name: 'a double', tag: 't' }],
    ['id 4', `name ${text}`],
    ['id 5', { id: 5n, name: 'five' }],
    ['id 6.5', int64],
    ['id {"$numberDecimal":"6.75"}', int64],
    ['id 10', { id: 10n, name: 'a decimal' }],
    ['id 11', { id: 11n, name: '\ufffd' }],
    ['id 12', `name ${text}`],
    ['id 13', `name ${text}`],
    ['id 14', `tag ${text}, or be left out`],
    ['id 9223372036854775807', { id: 2n ** 63n - 1n, name: 'the highest' }],
    ['id 1e+300', int64],
    ['id {"$numberDecimal":"NaN"}', int64],
    ['id {"$numberDouble":"-Infinity"}', int64],
    ['id {"$numberDouble":"NaN"}', int64],
    ['id "seven"', int64],
    ['id {"$oid":"6b02e41628411e28e5d85aa5"}', int64]
  ])
})

t.test('a MongoDB without plants is read, too', async t => {
  const mongo = await ScriptedMongo.start(t)
  t.strictSame(await entriesOf(mongoSource(mongo.url)), [])
})

t.test('plants created while MongoDB is read do not prolong it', async t => {
  const { mongo, collection } = await mongoWith(t, many(2_500))
  let ids = 2_500
  // Each page that is read adds another one: without an upper bound, reading would not end.
  const createBefore: Cue = async (_context, execute) => {
    await collection.insertMany(many(10, ids))
    ids += 10
    return execute()
  }
  mongo.on('find', (_context, execute) => execute()).on('find', createBefore, { times: 40 })
  const source = mongoSource(mongo.url)
  const entries = await entriesOf(source)
  t.ok(ids > 2_500, 'plants were created meanwhile')
  t.strictSame(entries.map(({ where }) => where), Array.from({ length: 2_500 }, (_, id) => `id ${id}`))
  t.equal(source.part(2_500), 1)
})

t.test('however long a page is being read, the next ones follow', async t => {
  const { mongo } = await mongoWith(t, many(2_500))
  // As after 10 minutes, or of some servers after 10 seconds.
  mongo.on('getMore', answer({ code: 43, codeName: 'CursorNotFound' }), { times: 1_000 })
  const entries = await entriesOf(mongoSource(mongo.url))
  t.strictSame(entries.map(({ where }) => where), Array.from({ length: 2_500 }, (_, id) => `id ${id}`))
})

t.test('each command reads as many plants as a response may have, though MongoDB begins with 101', async t => {
  const { mongo } = await mongoWith(t, many(2_500))
  let finds = 0
  const count: Cue = (_context, execute) => {
    finds++
    return execute()
  }
  mongo.on('find', count, { times: 1_000 })
  t.equal((await entriesOf(mongoSource(mongo.url))).length, 2_500)
  t.ok(finds <= 6, `${finds} commands: the highest id, three with plants, one without, and those without ids`)
})

t.test('reading says why MongoDB stopped sending', async t => {
  const { mongo } = await mongoWith(t, many(2_500))
  mongo.on('find', (_context, execute) => execute(), { times: 2 }).on('find', closeBeforeStoring(), { times: 2 })
  await t.rejects(entriesOf(mongoSource(mongo.url)), { constructor: CopyError, message: /^MongoDB: / })
})
