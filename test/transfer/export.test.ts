import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { BSON, MongoClient, ObjectId } from 'mongodb'
import t from 'tap'
import { runCopy } from '../../src/transfer/run-copy.js'
import { Tally } from '../../src/transfer/tally.js'
import { writeLines } from '../../src/transfer/targets/ndjson-target.js'
import { bare } from '../support/process/bare.js'
import { failingCalls, withCompiler } from '../support/process/failing-calls.js'
import { Program, run, testFolder } from '../support/process/program.js'
import { program } from '../support/process/project.js'
import type { Cue } from '../support/scripted-mongodb/cue.js'
import { closeBeforeStoring } from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { openSqlite } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { fill, manyPlants, pagesOf } from './plants.js'

const counted = { counted: true }

t.test('an existing file is not replaced', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(3))
  const file = join(folder, 'plants.ndjson')
  writeFileSync(file, 'mine')
  const { code, stderr } = await run(['export', file], { DATA_DIR: folder }, counted)
  t.equal(code, 1)
  t.match(stderr, /^plant-store: .*plants\.ndjson already exists.*\n$/)
  t.equal(readFileSync(file, 'utf8'), 'mine')
  t.strictSame(readdirSync(folder).filter(name => name.endsWith('.partial')), [])
})

t.test('a row that is not a valid plant is reported with its id, and the others are exported', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(3))
  const database = openSqlite(join(folder, 'plants.db'))
  database.exec("INSERT INTO plants VALUES (10, CAST(x'66ff' AS TEXT), NULL), (11, x'6162', NULL), (12, 'valid', x'00'), (13, 'valid', CAST(x'eda080' AS TEXT))")
  database.close()
  const { code, stdout, stderr } = await run(['export', '--quiet'], { DATA_DIR: folder }, counted)
  t.equal(code, 1)
  t.equal(stdout, '{"id":0,"name":"plant 0"}\n{"id":1,"name":"plant 1","tag":"odd"}\n{"id":2,"name":"plant 2"}\n')
  t.equal(stderr, [10, 11, 12, 13].map(id => `id ${id}: its name or tag is not UTF-8 text\n`).join(''))
})

t.test('a document that is not a valid plant is reported with its id, and the others are exported', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await MongoClient.connect(mongo.url)
  const collection = client.db('plant_store').collection<{ _id: unknown, name: unknown, tag?: unknown, color?: string }>('plants')
  await collection.insertMany([
    { _id: 1, name: 'an int32' }, { _id: new BSON.Double(2), name: 'a double', tag: 't' }, { _id: 3n, name: 'a long', color: 'green' },
    { _id: 4n, name: 4 }, { _id: 5n, name: 'five', tag: null }, { _id: 6.5, name: 'six' }, { _id: 'seven', name: 'seven' },
    { _id: new ObjectId('6b02e41628411e28e5d85aa5'), name: 'eight' }
  ])
  await client.close()
  const { code, stdout, stderr } = await run(['export', '-q'], { MONGODB_URL: mongo.url }, counted)
  t.equal(code, 1, stderr)
  t.equal(stdout, '{"id":1,"name":"an int32"}\n{"id":2,"name":"a double","tag":"t"}\n{"id":3,"name":"a long"}\n')
  t.match(stderr, /^id 4: its name is not a string$/m)
  t.match(stderr, /^id 5: its tag is not a string$/m)
  t.match(stderr, /^id 6\.5: its _id is not an integer of int64$/m)
  t.match(stderr, /^id "seven": its _id is not an integer of int64$/m)
  t.match(stderr, /^id {"\$oid":"6b02e41628411e28e5d85aa5"}: its _id is not an integer of int64$/m)
})

t.test('a database whose text is not UTF-8 is refused', async t => {
  const folder = testFolder(t)
  const database = openSqlite(join(folder, 'plants.db'))
  database.exec("PRAGMA encoding = 'UTF-16le'; CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT); INSERT INTO plants VALUES (1, 'Ficus', NULL)")
  database.close()
  const { code, stdout, stderr } = await run(['export'], { DATA_DIR: folder }, counted)
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, /^plant-store: \S+plants\.db cannot be read: its text is in UTF-16le, not in UTF-8\n$/)
})

t.test('a damaged database is reported in one line', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(20_000))
  const path = join(folder, 'plants.db')
  const database = openSqlite(path)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  const file = readFileSync(path)
  writeFileSync(path, file.fill('damage', file.length / 2, file.length / 2 + 4_096))
  const { code, stderr } = await run(['export', '-q'], { DATA_DIR: folder }, counted)
  t.equal(code, 1)
  t.match(stderr, /^plant-store: \S+plants\.db cannot be read: database disk image is malformed\n$/)
})

t.test('options for decoding in the URL do not change what is exported', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await MongoClient.connect(mongo.url)
  await client.db('plant_store').collection<{ _id: bigint, name: string }>('plants').insertMany([{ _id: -(2n ** 63n), name: 'Fern' }, { _id: 1n, name: 'Ficus' }])
  await client.close()
  const { code, stdout, stderr } = await run(['export', '-q'], { MONGODB_URL: `${mongo.url}&raw=true&promoteValues=false` }, counted)
  t.equal(stdout, '{"id":-9223372036854775808,"name":"Fern"}\n{"id":1,"name":"Ficus"}\n')
  t.equal(code, 0, stderr)
})

t.test('an export exits without a message if the reader closes the pipe', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(100_000))
  const child = spawn('env', bare({ DATA_DIR: folder }, [process.execPath, program, 'export', '--quiet']))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  child.stdout.once('data', () => child.stdout.destroy())
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  t.equal(stderr, '')
})

t.test('an export that is interrupted while its reader is slow exits immediately', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(100_000))
  const child = spawn('env', bare({ DATA_DIR: folder }, [process.execPath, program, 'export']), { stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  // The plants are not read: the pipe is full after 64 KiB.
  await once(child.stdout, 'readable')
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  child.stdout.destroy()
  t.equal(code, 1)
  t.match(stderr, /^exported \d+, invalid 0\nnot finished: interrupted/m)
})

t.test('an interrupted export stops at the next page, even if its output cannot be destroyed, like standard output', async t => {
  const interruption = new AbortController()
  const output = new PassThrough().resume()
  output.destroy = () => output
  const tally = new Tally(() => {})
  async function * pages () {
    yield * pagesOf(manyPlants(3))
    interruption.abort()
    yield * pagesOf(manyPlants(3))
  }
  await t.rejects(writeLines(pages(), output, tally, interruption.signal))
  t.equal(tally.copied, 3)
})

t.test('an interrupted export leaves no file', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await MongoClient.connect(mongo.url)
  await client.db('plant_store').collection<{ _id: number, name: string }>('plants').insertMany(Array.from({ length: 5_000 }, (_, _id) => ({ _id, name: `plant ${_id}` })))
  await client.close()
  mongo.delayAnswers(300)
  const folder = testFolder(t)
  const exporting = new Program(['export', join(folder, 'plants.ndjson')], { MONGODB_URL: mongo.url }, counted)
  const partial = () => readdirSync(folder).find(name => name.endsWith('.partial'))
  await until(() => partial() !== undefined && readFileSync(join(folder, partial() ?? '')).length > 0)
  const { code, stderr } = await exporting.end('SIGINT')
  t.equal(code, 1)
  t.match(stderr, /^not finished: interrupted: nothing is kept$/m)
  t.strictSame(readdirSync(folder), [])
})

t.test('an export that MongoDB stops sending says why, and leaves no file', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await MongoClient.connect(mongo.url)
  await client.db('plant_store').collection<{ _id: number, name: string }>('plants').insertMany(Array.from({ length: 3_500 }, (_, _id) => ({ _id, name: `plant ${_id}` })))
  await client.close()
  mongo.on('getMore', closeBeforeStoring())
  const folder = testFolder(t)
  const { code, stderr } = await run(['export', join(folder, 'plants.ndjson')], { MONGODB_URL: mongo.url }, counted)
  t.equal(code, 1)
  t.match(stderr, /^not finished: MongoDB: /m)
  t.strictSame(readdirSync(folder), [])
})

t.test('an export from MongoDB into a folder that does not exist says so, and exits', async t => {
  const mongo = await ScriptedMongo.start(t)
  const file = join(testFolder(t), 'nowhere', 'plants.ndjson')
  const { code, stderr } = await run(['export', file], { MONGODB_URL: mongo.url }, counted)
  t.equal(code, 1)
  t.match(stderr, /^not finished: .*plants\.ndjson cannot be written: ENOENT/m)
})

t.test('plants created during an export from MongoDB do not prolong it', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await MongoClient.connect(mongo.url)
  t.teardown(async () => { await client.close() })
  let ids = 0
  const create = async (count: number) => client.db('plant_store').collection<{ _id: number, name: string }>('plants')
    .insertMany(Array.from({ length: count }, () => ({ _id: ids++, name: 'Monstera' })))
  await create(2_500)
  // Each batch that is read adds another one: without an upper bound, the export would not end.
  const createBefore: Cue = async (_context, execute) => {
    await create(1_000)
    return execute()
  }
  mongo.on('getMore', createBefore, { times: 40 })
  const { code, stdout, stderr } = await run(['export'], { MONGODB_URL: mongo.url }, counted)
  t.equal(code, 0, stderr)
  t.ok(ids > 2_500, 'plants were created during the export')
  t.strictSame(stdout.trimEnd().split('\n').map(line => JSON.parse(line).id), Array.from({ length: 2_500 }, (_, id) => id))
  t.match(stderr, /^export: 100 %, 2,500 plants/m)
  t.match(stderr, /^exported 2500, invalid 0$/m)
})

t.test('an interruption while a complete export gets its name does not undo it', async t => {
  const { pid } = process
  const code = await runCopy({
    task: 'export',
    source: { pages: () => pagesOf([]), part: () => 1 },
    from: 'here',
    to: 'there',
    quiet: true,
    async copy (_tally, signal) {
      // A signal alone does not keep the process alive.
      const timer = setInterval(() => {}, 1_000)
      process.kill(pid, 'SIGINT')
      await once(signal, 'abort')
      clearInterval(timer)
    }
  })
  t.equal(code, 0)
})

t.test('an export that fails because of the disk leaves no file', withCompiler, async t => {
  for (const kind of ['write', 'sync'] as const) {
    const folder = testFolder(t)
    fill(folder, manyPlants(3))
    const file = join(folder, 'plants.ndjson')
    const calls = failingCalls(folder, 'plants.ndjson')
    calls.begin(kind)
    const { code, stderr } = await run(['export', file], { ...calls.env, DATA_DIR: folder })
    t.equal(code, 1)
    t.match(stderr, /^not finished: .*plants\.ndjson cannot be written: .*(EIO|i\/o error)/m)
    t.notOk(existsSync(file))
    t.strictSame(readdirSync(folder).filter(name => name.endsWith('.partial')), [])
  }
})

t.test('on a file system without hard links, a file still appears complete and replaces none', withCompiler, async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(3))
  const file = join(folder, 'plants.ndjson')
  const calls = failingCalls(folder)
  calls.begin('link')
  t.equal((await run(['export', file], { ...calls.env, DATA_DIR: folder })).code, 0)
  const exported = readFileSync(file, 'utf8')
  t.equal(exported.split('\n').length, 4)
  t.equal((await run(['export', file], { ...calls.env, DATA_DIR: folder })).code, 1)
  t.equal(readFileSync(file, 'utf8'), exported)
  t.strictSame(readdirSync(folder).filter(name => name.endsWith('.partial')), [])
})
