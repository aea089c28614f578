import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { Program, run, testFolder, token } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { openSqlite } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { fill, hardPlants, manyPlants } from './plants.js'

const counted = { counted: true }

t.test('migrate copies every plant exactly; a second run finds them all copied', async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  const plants = [...hardPlants, ...manyPlants(300, 1_000)]
  fill(folder, plants)
  const env = { DATA_DIR: folder, MONGODB_URL: mongo.url, NODE_ENV: 'production' }
  const first = await run(['migrate'], env, counted)
  t.equal(first.code, 0, first.stderr)
  t.equal(first.stdout, `copied ${plants.length}, already there 0, in conflict 0, invalid 0\n`)
  t.match(first.stderr, new RegExp(`^migrate: 100 %, ${plants.length} plants, [\\d,]+ a second$`, 'm'))
  const stored = mongo.majority()
  t.equal(stored.size, plants.length)
  for (const { id, ...plant } of plants) t.strictSame(stored.get(id), plant)

  const again = await run(['migrate', '--quiet'], env, counted)
  t.equal(again.code, 0)
  t.equal(again.stdout, `copied 0, already there ${plants.length}, in conflict 0, invalid 0\n`)
  t.equal(again.stderr, '')
})

t.test('plants that cannot be copied are reported with their ids, without the advice to run it again', async t => {
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

t.test('plants created during a migration are not failures, and do not prolong it', async t => {
  const mongo = await ScriptedMongo.start(t)
  mongo.delayAnswers(20)
  const folder = testFolder(t)
  fill(folder, manyPlants(30_000))
  const migrating = new Program(['migrate'], { DATA_DIR: folder, MONGODB_URL: mongo.url }, counted)
  await until(() => mongo.majority().size > 0)
  // Ids below and above those being copied.
  fill(folder, [...manyPlants(500, -1_000), ...manyPlants(500, 100_000)])
  const { code, stdout, stderr } = await migrating.ended
  t.equal(code, 0, stderr)
  t.equal(stdout, 'copied 30000, already there 0, in conflict 0, invalid 0\n')
  t.equal((await run(['migrate'], { DATA_DIR: folder, MONGODB_URL: mongo.url }, counted)).code, 0)
  t.equal(mongo.majority().size, 31_000)
})

t.test('an interrupted migration reports its progress, and a second run completes it', async t => {
  const mongo = await ScriptedMongo.start(t)
  mongo.delayAnswers(200)
  const folder = testFolder(t)
  fill(folder, manyPlants(60_000))
  const env = { DATA_DIR: folder, MONGODB_URL: mongo.url }
  const program = new Program(['migrate'], env, counted)
  await until(() => mongo.majority().size >= 2_000)
  const { code, stdout, stderr } = await program.end('SIGINT')
  const copied = Number(/^copied (\d+)/.exec(stdout)?.[1])
  t.equal(code, 1, stdout)
  t.match(stderr, /^not finished: interrupted: run it again to continue$/m)
  t.equal(copied, mongo.majority().size)
  t.ok(copied < 60_000)
  mongo.delayAnswers(0)
  const again = await run(['migrate'], env, counted)
  t.equal(again.stdout, `copied ${60_000 - copied}, already there ${copied}, in conflict 0, invalid 0\n`)
  t.equal(again.code, 0)
})

t.test('failures are reported in one line', async t => {
  const folder = testFolder(t)
  const cases: [RegExp, NodeJS.ProcessEnv][] = [
    [/^plant-store: MONGODB_URL is not set: .*MONGODB_URL_FILE.*\n$/, { DATA_DIR: folder }],
    [/^plant-store: there is no .*plants\.db: set DATA_DIR .*\n$/, { DATA_DIR: folder, MONGODB_URL: 'mongodb://127.0.0.1:1/' }]
  ]
  for (const [line, env] of cases) {
    const { code, stderr } = await run(['migrate'], env, counted)
    t.equal(code, 1)
    t.match(stderr, line)
  }
  fill(folder, [{ id: 1n, name: 'one' }])
  for (const command of ['migrate', 'export', 'import']) {
    const away = await run([command], { DATA_DIR: folder, MONGODB_URL: `mongodb://user:${token}@127.0.0.1:1/?serverSelectionTimeoutMS=300` }, counted)
    t.equal(away.code, 1)
    t.match(away.stderr, /^plant-store: MongoDB is not reachable: .*ECONNREFUSED.*\n$/)
    t.notMatch(away.stderr, token)
  }
})
