import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { BSON, MongoClient, ObjectId, type Collection, type Document } from 'mongodb'
import t, { type Test } from 'tap'
import { mongoSource } from '../../src/service/commands/sources/mongo-source.js'
import { linesOf } from '../../src/service/commands/sources/ndjson-source.js'
import { CopyError } from '../../src/service/commands/sources/plant-source.js'
import { sqliteSource } from '../../src/service/commands/sources/sqlite-source.js'
import { testFolder } from '../support/process/program.js'
import { closeBeforeStoring, type Cue } from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { execute, TABLE } from '../support/stores/sqlite-file.js'
import { entriesOf, fill, manyPlants } from './plants.js'

const { signal } = new AbortController()

/** A database file with plants, on which SQL was run. */
function databaseWith (t: Test, count: number, sql: string): string {
  const folder = testFolder(t)
  fill(folder, manyPlants(count))
  const path = join(folder, 'plants.db')
  execute(path, sql)
  return path
}

async function mongoWith (t: Test, documents: object[]): Promise<{ mongo: ScriptedMongo, collection: Collection }> {
  const mongo = await ScriptedMongo.start(t)
  const client = await MongoClient.connect(mongo.url)
  t.teardown(() => client.close())
  const collection = client.db('plant_store').collection('plants')
  await collection.insertMany(documents)
  return { mongo, collection }
}

t.test('a line that is too long for a string is invalid, and those after it are read', async t => {
  const part = 'x'.repeat(2 ** 27)
  const lines: string[] = []
  const chunks = [part, part, part, `${part}\n{"id":1}\n`, '{"id":2}\n{"id":', '5}\n']
  for await (const more of linesOf(Readable.from(chunks))) lines.push(...more)
  t.throws(() => JSON.parse(lines[0] ?? ''))
  t.strictSame(lines.slice(1), [1, 2, 5].map(id => `{"id":${id}}`))
})

t.test('a row that is not a valid plant is named by its id', async t => {
  const path = databaseWith(t, 2, `INSERT INTO plants VALUES (10, CAST(x'66ff' AS TEXT), NULL),
    (11, x'6162', NULL), (12, 'valid', x'00'), (13, 'valid', CAST(x'eda080' AS TEXT))`)
  const wellFormed = 'must be a string of well-formed Unicode'
  t.strictSame(await entriesOf(await sqliteSource(path)), [
    { where: 'id 0', plant: { id: 0n, name: 'plant 0' } },
    { where: 'id 1', plant: { id: 1n, name: 'plant 1', tag: 'odd' } },
    { where: 'id 10', plant: `name ${wellFormed}` },
    { where: 'id 11', plant: `name ${wellFormed}` },
    { where: 'id 12', plant: `tag ${wellFormed}, or be left out` },
    { where: 'id 13', plant: `tag ${wellFormed}, or be left out` }
  ])
})

t.test('a database that is missing, another program\'s, in other text or damaged is reported in one line', async t => {
  const missing = 'there is no nowhere/plants.db: set DATA_DIR to the folder of plants.db'
  await t.rejects(sqliteSource('nowhere/plants.db'), { message: missing })
  await t.rejects(sqliteSource('.'), { message: '. cannot be read: it is not a file' })
  const empty = databaseWith(t, 0, 'DROP TABLE plants')
  await t.rejects(sqliteSource(empty), { message: /plants\.db cannot be read: no such table: plants$/ })

  const wide = join(testFolder(t), 'plants.db')
  execute(wide, `PRAGMA encoding = 'UTF-16le'; ${TABLE})`)
  await t.rejects(sqliteSource(wide), { message: /plants\.db cannot be read: its text is in UTF-16le, not in UTF-8$/ })

  const damaged = databaseWith(t, 2_000, 'PRAGMA wal_checkpoint(TRUNCATE)')
  const file = readFileSync(damaged)
  writeFileSync(damaged, file.fill('damage', file.length / 2, file.length / 2 + 4_096))
  await t.rejects(sqliteSource(damaged).then(entriesOf), { message: 'database disk image is malformed' })
})

t.test('plants created while a database is read do not prolong it', async t => {
  const path = databaseWith(t, 5_000, '')
  const source = await sqliteSource(path)
  let count = 0
  for await (const page of source.pages(signal)) {
    fill(join(path, '..'), manyPlants(1_000, 10_000 + count))
    count += page.length
    t.equal(source.part(count), count / 5_000)
  }
  t.equal(count, 5_000)
})

t.test('a document that is not a valid plant is named by its id; a tag of null is none', async t => {
  const { mongo, collection } = await mongoWith(t, [
    { _id: 1, name: 'an int32' }, { _id: new BSON.Double(2), name: 'a double', tag: 't' },
    { _id: -(2n ** 63n), name: 'a long', color: 'green' },
    { _id: 4n, name: 4 }, { _id: 5n, name: 'five', tag: null }, { _id: 6.5, name: 'six' },
    { _id: 'seven', name: 'seven' },
    { _id: new ObjectId('6b02e41628411e28e5d85aa5'), name: 'eight' }
  ])
  mongo.on('insert', (_context, execute) => execute({ replicated: false }))
  await collection.insertMany([{ _id: 3n, name: 'not on the majority' } as Document], { writeConcern: { w: 1 } })
  const entries = await entriesOf(mongoSource(mongo.url))
  const int64 = 'id must be an integer from -9223372036854775808 to 9223372036854775807 (int64): ' +
    'a JSON number, not a string'
  t.strictSame(new Map(entries.map(({ where, plant }) => [where, plant])), new Map<string, unknown>([
    ['id -9223372036854775808', { id: -(2n ** 63n), name: 'a long' }],
    ['id 1', { id: 1n, name: 'an int32' }],
    ['id 2', { id: 2n, name: 'a double', tag: 't' }],
    ['id 4', 'name must be a string of well-formed Unicode'],
    ['id 5', { id: 5n, name: 'five' }],
    ['id 6.5', int64],
    ['id "seven"', int64],
    ['id {"$oid":"6b02e41628411e28e5d85aa5"}', int64]
  ]))
})

t.test('plants created while MongoDB is read do not prolong it', async t => {
  const many = (count: number, from: number): Document[] =>
    Array.from({ length: count }, (_, i) => ({ _id: from + i, name: 'Monstera' }))
  const { mongo, collection } = await mongoWith(t, many(2_500, 0))
  let ids = 2_500
  // Each batch that is read adds another one: without an upper bound, reading would not end.
  const createBefore: Cue = async (_context, execute) => {
    await collection.insertMany(many(10, ids))
    ids += 10
    return execute()
  }
  mongo.on('getMore', createBefore, { times: 40 })
  const source = mongoSource(mongo.url)
  const entries = await entriesOf(source)
  t.ok(ids > 2_500, 'plants were created meanwhile')
  t.strictSame(entries.map(({ where }) => where), Array.from({ length: 2_500 }, (_, id) => `id ${id}`))
  t.equal(source.part(2_500), 1)
})

t.test('reading says why MongoDB stopped sending', async t => {
  const { mongo } = await mongoWith(t, Array.from({ length: 2_500 }, (_, _id) => ({ _id, name: 'Monstera' })))
  mongo.on('getMore', closeBeforeStoring())
  await t.rejects(entriesOf(mongoSource(mongo.url)), { constructor: CopyError, message: /^MongoDB: / })
})

t.test('lines do not depend on how the bytes are split into chunks', async t => {
  async function split (text: string, size: number): Promise<string[]> {
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
    const lines = []
    for await (const some of linesOf(Readable.from(chunks))) lines.push(...some)
    return lines
  }
  // A carriage return is white space of JSON, and the bytes of a line separator (U+2028) may be in a name.
  const text = 'one\n\nth\rree\r\n\nfi\u00e2\u0080\u00a8ve'
  const lines = ['one', '', 'th\rree\r', '', 'fi\u00e2\u0080\u00a8ve']
  for (let size = 1; size <= text.length + 1; size++) t.strictSame(await split(text, size), lines, `chunks of ${size}`)
  t.strictSame(await split('one\n', 2), ['one'], 'no empty line follows the last newline')
})
