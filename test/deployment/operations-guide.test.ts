import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { errorCodes } from '../../src/http/error-codes.js'
import { documented } from '../support/documented.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { needsProgram } from '../support/process/needs.js'
import { create, startService, testFolder, token } from '../support/process/program.js'
import { program, projectFile } from '../support/process/project.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'

const GUIDE = 'docs/operations.md'
const text = readFileSync(projectFile(GUIDE), 'utf8')
const withSqlite = needsProgram('sqlite3')

t.test('the guide explains each log message', async t => {
  const rows = [...text.matchAll(/^\| .*`.*\| (?:info|warn|error|fatal) \|/gm)].map(([row]) => row.replaceAll('…', '${}'))
  const source = ['serve.ts', 'service.ts', 'cluster/primary.ts', 'cluster/worker.ts', 'logging/logger.ts'].map(file => readFileSync(projectFile(`src/service/${file}`), 'utf8')).join('')
  const messages = [...source.matchAll(/[lL]og\.(?:info|warn|error|fatal)\((?:\{.*?\}, |\w+, )?(['`])(.*?)\1\)/g)].map(([, , message = '']) => message)
  t.ok(messages.length > 12, `${messages.length}`)
  for (const message of messages) {
    // The guide has the fixed parts of each message.
    const words = message.split(/\$\{.*?\}/).map(part => part.trim()).filter(part => part !== '')
    t.ok(rows.some(row => words.every(word => row.includes(word))), message)
  }
})

t.test('the guide explains each log message of a response with 500 or more', async t => {
  const phrases = [...text.matchAll(/^\| (`[^|]*) \| (?:warn|error) \|/gm)].flatMap(([, cell = '']) => cell.split(/`(?:, `)?/)).filter(phrase => phrase !== '')
  const source = ['http/create-queue.ts', 'service/app.ts'].map(file => readFileSync(projectFile(`src/${file}`), 'utf8')).join('')
  const own = [...source.matchAll(/new ApiError\('notStored', '(.*?)'/g)].map(([, message = '']) => message)
  t.equal(own.length, 3)
  const faults = Object.values(errorCodes).filter(([status]) => status >= 500).map(([, , message]) => message)
  for (const message of [...own, ...faults]) {
    t.ok(phrases.some(phrase => message.startsWith(phrase.replace(/ ?…$/, ''))), message)
  }
})

t.test('the guide lists exactly the metrics of the service', async t => {
  const { cert, key } = makeCertificate(testFolder(t), 'plants')
  const service = await startService(t, { METRICS_PORT: '0', WORKERS: '2', TLS_CERT_FILE: cert, TLS_KEY_FILE: key })
  const { port } = await service.logged('metrics on port')
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const served = [...metrics.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name).filter(name => !/^(?:process|nodejs)_/.test(name))
  const listed = [...text.matchAll(/^\| (`(?:http|plant_store)_.*?) \|/gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? [])
  t.strictSame(listed.sort(), served.sort())
})

// The commands set the store themselves.
const { MONGODB_URL, ...env } = process.env

/** Runs a command of the guide in the test's own folders; returns its output. */
async function shell (folder: string, command: string, others: Record<string, string> = {}): Promise<string> {
  const places = {
    ...others,
    '/var/lib/plant-store': join(folder, 'data'),
    '/var/backups/plant-store': join(folder, 'backups'),
    '/opt/plant-store': folder,
    'dist/service/main.js': program
  }
  for (const [place, own] of Object.entries(places)) command = command.replaceAll(place, own)
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], { cwd: folder, env: { ...env, PATH } })).stdout
}

t.test('a backup of the running service is restored, and plants created after it are recovered', async t => {
  const folder = testFolder(t)
  const DATA_DIR = join(folder, 'data')
  const service = await startService(t, { DATA_DIR, ACCESS_TOKENS: token })
  for (const id of [1, 2, 3]) await create(service.address, { id })
  await shell(folder, documented('docs/operations.md', 'main.js backup'))
  const [name = ''] = readdirSync(join(folder, 'backups'))
  await create(service.address, { id: 4 })
  const stop = `systemctl () { [ "$1" = start ] || { kill ${service.pid}; while kill -0 ${service.pid} 2> /dev/null; do sleep 0.1; done; }; }`
  await shell(folder, `${stop}\n${documented('docs/operations.md', 'systemctl stop')}`, { 'plants-2026-01-31.db': name })
  await startService(t, { DATA_DIR, ACCESS_TOKENS: token })
  const stored = () => [...plantsInFile(join(DATA_DIR, 'plants.db')).keys()]
  t.strictSame(stored(), [1n, 2n, 3n])
  const [old = ''] = readdirSync(DATA_DIR).filter(name => name.startsWith('before-restore-'))
  const counts = await shell(folder, documented('docs/operations.md', 'main.js export |'), { 'before-restore-2026-02-01T093000': old })
  t.equal(counts, 'copied 1, already there 3, in conflict 0, invalid 0\n')
  t.strictSame(stored(), [1n, 2n, 3n, 4n])
})

t.test('an export of one store is imported into another', async t => {
  const folder = testFolder(t)
  const service = await startService(t, { DATA_DIR: join(folder, 'data'), ACCESS_TOKENS: token })
  for (const id of [1, 2, 3]) await create(service.address, { id })
  const mongo = await ScriptedMongo.start(t)
  const counts = await shell(folder, documented('docs/operations.md', 'import plants.ndjson'), { 'mongodb://…': mongo.url })
  t.ok(text.includes(`\`${counts.trim()}\``), 'the counts are those of the guide')
  t.strictSame([...mongo.majority().keys()], [1n, 2n, 3n])
})

t.test('plants move from SQLite to MongoDB and back', async t => {
  const folder = testFolder(t)
  const DATA_DIR = join(folder, 'data')
  const service = await startService(t, { DATA_DIR, ACCESS_TOKENS: token })
  for (const id of [1, 2, 3]) await create(service.address, { id })
  const mongo = await ScriptedMongo.start(t)
  const move = async (command: string) => shell(folder, command, { 'mongodb://…': mongo.url })
  await move(documented('docs/operations.md', 'main.js migrate'))
  t.strictSame([...mongo.majority().keys()], [1n, 2n, 3n])
  await service.end('SIGTERM')
  rmSync(DATA_DIR, { recursive: true })
  await move(documented('docs/operations.md', 'import back.ndjson'))
  t.strictSame([...plantsInFile(join(DATA_DIR, 'plants.db')).keys()], [1n, 2n, 3n])
})

t.test('plants are listed, counted and deleted by sqlite3 while the service runs', withSqlite, async t => {
  const folder = testFolder(t)
  const service = await startService(t, { DATA_DIR: join(folder, 'data'), ACCESS_TOKENS: token })
  for (const id of [1, 2, 3]) await create(service.address, { id })
  const output = await shell(folder, documented('docs/operations.md', 'sqlite3 data/plants.db'))
  t.equal(output, '1|Monstera|\n2|Monstera|\n3|Monstera|\n3\n5000\n')
  t.strictSame([...plantsInFile(join(folder, 'data', 'plants.db')).keys()], [2n, 3n])
  t.equal((await create(service.address, { id: 1 })).status, 200, 'the id is free again')
})

// The guide names the versions of Node that have node:sqlite.
if (isBuiltin('node:sqlite')) {
  t.test('plants are listed by Node itself, with exact ids', async t => {
    const folder = testFolder(t)
    const service = await startService(t, { DATA_DIR: join(folder, 'data'), ACCESS_TOKENS: token })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await fetch(`${service.address}/plants`, { method: 'POST', headers, body: '{"id":9223372036854775807,"name":"Monstera"}' })
    const output = await shell(folder, documented('docs/operations.md', 'node:sqlite'))
    t.match(output, /│ '9223372036854775807' +│ 'Monstera' +│ null +│/)
  })
}
