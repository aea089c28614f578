import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { Program, run, testFolder, token } from '../support/process/program.js'
import { delayReply } from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { openSqlite } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { fill, manyPlants } from './plants.js'

const counted = { counted: true }

t.test('plants that cannot be copied are named by their ids, without the advice to run it again', async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  fill(folder, [{ id: 1n, name: 'one' }, { id: 2n, name: 'two' }, { id: 3n, name: 'three', tag: 'x' }])
  const database = openSqlite(join(folder, 'plants.db'))
  database.exec("INSERT INTO plants VALUES (4, CAST(x'ff' AS TEXT), NULL)")
  database.close()
  const client = await MongoClient.connect(mongo.url)
  await client.db('plant_store').collection<{ _id: bigint, name: string }>('plants').insertOne({ _id: 2n, name: 'another' })
  await client.close()
  const { code, stdout, stderr } = await run(['migrate'], { DATA_DIR: folder, MONGODB_URL: mongo.url }, counted)
  t.equal(code, 1)
  t.equal(stdout, 'copied 2, already there 0, in conflict 1, invalid 1\n')
  t.match(stderr, /^id 2: another plant has the id 2$/m)
  t.match(stderr, /^id 4: its name or tag is not UTF-8 text$/m)
  t.notMatch(stderr, 'again')
  t.strictSame(mongo.majority().get(2n), { name: 'another' })
})

t.test('an interrupted migration reports its progress, and a second run completes it, with the plants created meanwhile', async t => {
  const mongo = await ScriptedMongo.start(t)
  mongo.on('insert', delayReply(100), { times: 1_000 })
  const folder = testFolder(t)
  fill(folder, manyPlants(30_000))
  const env = { DATA_DIR: folder, MONGODB_URL: mongo.url }
  const program = new Program(['migrate'], env, counted)
  await until(() => mongo.majority().size >= 1_000)
  // Ids below and above those being copied.
  fill(folder, [...manyPlants(500, -1_000), ...manyPlants(500, 100_000)])
  const { code, stdout, stderr } = await program.end('SIGINT')
  const copied = Number(/^copied (\d+), already there 0, in conflict 0, invalid 0$/m.exec(stdout)?.[1])
  t.equal(code, 1, stdout)
  t.match(stderr, /^not finished: interrupted: run it again to continue$/m)
  t.equal(copied, mongo.majority().size)
  t.ok(copied < 30_000)
  mongo.clearCues()
  const again = await run(['migrate'], env)
  t.equal(again.stdout, `copied ${31_000 - copied}, already there ${copied}, in conflict 0, invalid 0\n`)
  t.equal(again.code, 0)
})

t.test('failures are reported in one line, without credentials', async t => {
  const folder = testFolder(t)
  fill(folder, [{ id: 1n, name: 'one' }])
  const away = { DATA_DIR: folder, MONGODB_URL: `mongodb://user:${token}@127.0.0.1:1/?serverSelectionTimeoutMS=300` }
  const unreachable = /^plant-store: MongoDB is not reachable: .*ECONNREFUSED.*\n$/
  const cases: [command: string, env: NodeJS.ProcessEnv, line: RegExp][] = [
    ['migrate', { DATA_DIR: folder }, /^plant-store: MONGODB_URL is not set: .*MONGODB_URL_FILE.*\n$/],
    ['migrate', away, unreachable],
    ['export', away, unreachable]
  ]
  await Promise.all(cases.map(async ([command, env, line]) => {
    const { code, stderr } = await run([command], env)
    t.equal(code, 1)
    t.match(stderr, line)
    t.notMatch(stderr, token)
  }))
})
