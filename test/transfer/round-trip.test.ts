import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bare } from '../support/process/bare.js'
import { run, testFolder } from '../support/process/program.js'
import { program } from '../support/process/project.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { bytesOfPlants, fill, hardPlants, manyPlants } from './plants.js'

const counted = { counted: true }

t.test('importing an export into an empty store restores every plant to the byte', async t => {
  const folder = testFolder(t)
  const [first, second, file, again] = ['first', 'second', 'plants.ndjson', 'again.ndjson'].map(name => join(folder, name)) as [string, string, string, string]
  fill(first, hardPlants)
  fill(first, manyPlants(2_500, 1_000))

  const exported = await run(['export', file], { DATA_DIR: first }, counted)
  t.equal(exported.code, 0, exported.stderr)
  t.equal(exported.stdout, '')
  t.match(exported.stderr, `export: 100 %, ${(hardPlants.length + 2_500).toLocaleString('en')} plants`)
  t.match(exported.stderr, `\nexported ${hardPlants.length + 2_500}, invalid 0\n`)
  const lines = readFileSync(file, 'utf8').split('\n')
  t.equal(lines.at(-1), '', 'the last line ends with a newline')
  t.equal(lines[0], '{"id":-9223372036854775808,"name":"lowest"}')
  t.equal(lines.at(-2), '{"id":9223372036854775807,"name":"highest","tag":"tag"}')

  const imported = await run(['import', file], { DATA_DIR: second }, counted)
  t.equal(imported.code, 0, imported.stderr)
  t.equal(imported.stdout, `copied ${hardPlants.length + 2_500}, already there 0, in conflict 0, invalid 0\n`)
  t.match(imported.stderr, /^import: 100 %, .* a second$/m)
  t.strictSame(bytesOfPlants(join(second, 'plants.db')), bytesOfPlants(join(first, 'plants.db')))
  t.equal((await run(['export', again], { DATA_DIR: second })).code, 0)
  t.ok(readFileSync(again).equals(readFileSync(file)), 'the second export is identical to the first')
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

t.test('plants migrated to MongoDB and exported again are unchanged', async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  const [first, second, file] = ['first', 'second', 'plants.ndjson'].map(name => join(folder, name)) as [string, string, string]
  fill(first, hardPlants)
  fill(first, manyPlants(2_500, 1_000))
  t.equal((await run(['migrate'], { DATA_DIR: first, MONGODB_URL: mongo.url })).code, 0)
  const exported = await run(['export', file], { MONGODB_URL: mongo.url }, counted)
  t.equal(exported.code, 0, exported.stderr)
  t.match(exported.stderr, `\nexported ${hardPlants.length + 2_500}, invalid 0\n`)
  t.equal((await run(['import', file], { DATA_DIR: second })).code, 0)
  t.strictSame(bytesOfPlants(join(second, 'plants.db')), bytesOfPlants(join(first, 'plants.db')))

  const back = await run(['import', file], { MONGODB_URL: mongo.url }, counted)
  t.equal(back.stdout, `copied 0, already there ${hardPlants.length + 2_500}, in conflict 0, invalid 0\n`)
  t.equal(back.code, 0)
})
