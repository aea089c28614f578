import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bare } from '../support/process/bare.js'
import { run, testFolder } from '../support/process/program.js'
import { program } from '../support/process/project.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { bytesOfPlants, fill, hardPlants, manyPlants } from './plants.js'

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
