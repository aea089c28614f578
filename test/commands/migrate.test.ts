import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { bare, Program, program, run, testFolder, token } from '../support/process/program.js'
import { delayReply } from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { execute } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { bytesOfPlants, fill, hardPlants, manyPlants } from './plants.js'

const counted = { counted: true }

t.test('plants that cannot be copied are named by their ids, without the advice to run it again', async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  fill(folder, [{ id: 1n, name: 'one' }, { id: 2n, name: 'two' }, { id: 3n, name: 'three', tag: 'x' }])
  execute(join(folder, 'plants.db'), "INSERT INTO plants VALUES (4, CAST(x'ff' AS TEXT), NULL)")
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
  fill(folder, manyPlants(12_000))
  const env = { DATA_DIR: folder, MONGODB_URL: mongo.url }
  const migration = new Program(['migrate'], env, counted)
  await until(() => mongo.majority().size >= 1_000)
  // Ids below and above those being copied.
  fill(folder, [...manyPlants(500, -1_000), ...manyPlants(500, 100_000)])
  const { code, stdout, stderr } = await migration.end('SIGINT')
  const copied = Number(/^copied (\d+), already there 0, in conflict 0, invalid 0$/m.exec(stdout)?.[1])
  t.equal(code, 1, stdout)
  t.match(stderr, /^not finished: interrupted: run it again to continue$/m)
  t.equal(copied, mongo.majority().size)
  t.ok(copied < 12_000)
  mongo.clearCues()
  const again = await run(['migrate'], env)
  t.equal(again.stdout, `copied ${13_000 - copied}, already there ${copied}, in conflict 0, invalid 0\n`)
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

t.test('plants that were migrated to MongoDB, exported and imported again are the same to the byte', async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  const [first, second, file] = ['first', 'second', 'plants.ndjson'].map(name => join(folder, name)) as [string, string, string]
  const plants = [...hardPlants, ...manyPlants(2_500, 1_000)]
  fill(first, plants)
  const migration = { DATA_DIR: first, MONGODB_URL: mongo.url, NODE_ENV: 'production' }
  const migrated = await run(['migrate'], migration)
  t.equal(migrated.code, 0, migrated.stderr)
  t.equal(migrated.stdout, `copied ${plants.length}, already there 0, in conflict 0, invalid 0\n`)
  t.match(migrated.stderr, /^migrate: 100 %, 2,512 plants, [\d,]+ a second$/m)
  const again = await run(['migrate', '--quiet'], migration)
  t.match(again, { code: 0, stdout: `copied 0, already there ${plants.length}, in conflict 0, invalid 0\n`, stderr: /^$/ })

  const exported = await run(['export', file], { MONGODB_URL: mongo.url })
  t.equal(exported.code, 0, exported.stderr)
  t.equal(exported.stdout, '')
  t.match(exported.stderr, 'export: 100 %, 2,512 plants')
  t.match(exported.stderr, `\nexported ${plants.length}, invalid 0\n`)
  const lines = readFileSync(file, 'utf8').split('\n')
  t.equal(lines.at(-1), '', 'the last line ends with a newline')
  t.equal(lines[0], '{"id":-9223372036854775808,"name":"lowest"}')
  t.equal(lines.at(-2), '{"id":9223372036854775807,"name":"highest","tag":"tag"}')

  const imported = await run(['import', file], { DATA_DIR: second })
  t.equal(imported.code, 0, imported.stderr)
  t.equal(imported.stdout, `copied ${plants.length}, already there 0, in conflict 0, invalid 0\n`)
  t.match(imported.stderr, /^import: 100 %, .* a second$/m)
  t.strictSame(bytesOfPlants(join(second, 'plants.db')), bytesOfPlants(join(first, 'plants.db')))
})

t.test('an export can be piped into an import', async t => {
  const folder = testFolder(t)
  const [first, second] = ['first', 'second'].map(name => join(folder, name)) as [string, string]
  fill(first, hardPlants)
  const command = `DATA_DIR='${first}' '${process.execPath}' '${program}' export | DATA_DIR='${second}' '${process.execPath}' '${program}' import -`
  const counts = execFileSync('env', bare({ PATH: process.env.PATH }, ['sh', '-c', command]), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  t.equal(counts, `copied ${hardPlants.length}, already there 0, in conflict 0, invalid 0\n`)
  t.strictSame(bytesOfPlants(join(second, 'plants.db')), bytesOfPlants(join(first, 'plants.db')))
})
