import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { create, startService, testFolder, token } from '../support/process/program.js'
import { needsProgram } from '../support/process/needs.js'
import { program, projectFile } from '../support/process/project.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'
import { block } from './documents.js'

const GUIDE = 'docs/operations.md'
const text = readFileSync(projectFile(GUIDE), 'utf8')
const withSqlite = needsProgram('sqlite3')

t.test('every link of the guide leads somewhere', async t => {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase().replace(/[^\w -]/g, '').replaceAll(' ', '-'))
  const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
  t.ok(links.length > 20)
  for (const link of links.filter(link => !link.startsWith('http'))) {
    const [file = '', anchor = ''] = link.split('#')
    if (file === '') t.ok(headings.includes(anchor), link)
    else t.ok(existsSync(projectFile(join(dirname(GUIDE), file))), link)
  }
})

t.test('the guide says what each line of the log means', async t => {
  const rows = [...text.matchAll(/^\| .*`.*\| (?:info|warn|error|fatal) \|/gm)].map(([row]) => row.replaceAll('…', '${}'))
  const source = ['serve.ts', 'service.ts', 'cluster/primary.ts', 'cluster/worker.ts', 'logging/logger.ts'].map(file => readFileSync(projectFile(`src/service/${file}`), 'utf8')).join('')
  const messages = [...source.matchAll(/[lL]og\.(?:info|warn|error|fatal)\((?:\{.*?\}, |\w+, )?(['`])(.*?)\1\)/g)].map(([, , message = '']) => message)
  t.ok(messages.length > 12, `${messages.length}`)
  for (const message of messages) {
    // Between what differs from line to line, the words are the same.
    const words = message.split(/\$\{.*?\}/).map(part => part.trim()).filter(part => part !== '')
    t.ok(rows.some(row => words.every(word => row.includes(word))), message)
  }
})

// The commands themselves say which store they mean.
const { MONGODB_URL, ...env } = process.env

/** A command of the guide, with folders of the test's own. */
function shell (folder: string, command: string): string {
  const places = { '/var/lib/plant-store': join(folder, 'data'), '/var/backups/plant-store': join(folder, 'backups'), 'dist/service/main.js': program }
  for (const [place, own] of Object.entries(places)) command = command.replaceAll(place, own)
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  return execFileSync('bash', ['-euc', command], { cwd: folder, encoding: 'utf8', stdio: 'pipe', env: { ...env, PATH } })
}

t.test('a backup that was made while the service ran is restored', async t => {
  const folder = testFolder(t)
  const DATA_DIR = join(folder, 'data')
  mkdirSync(join(folder, 'backups'))
  const service = await startService(t, { DATA_DIR, ACCESS_TOKENS: token })
  for (const id of [1, 2, 3]) await create(service.address, { id })
  shell(folder, block(GUIDE, 'bash', 'main.js backup'))
  await create(service.address, { id: 4 })
  await service.end('SIGTERM')
  shell(folder, block(GUIDE, 'bash', 'before-restore'))
  const restored = await startService(t, { DATA_DIR, ACCESS_TOKENS: token })
  t.strictSame([...plantsInFile(join(DATA_DIR, 'plants.db')).keys()], [1n, 2n, 3n])
  t.equal((await create(restored.address, { id: 4 })).status, 200)
})

t.test('plants move from SQLite to MongoDB and back', async t => {
  const folder = testFolder(t)
  const DATA_DIR = join(folder, 'data')
  const service = await startService(t, { DATA_DIR, ACCESS_TOKENS: token })
  for (const id of [1, 2, 3]) await create(service.address, { id })
  const mongo = await ScriptedMongo.start(t)
  const move = async (command: string) => promisify(execFile)('bash', ['-euc', command.replaceAll('mongodb://…', mongo.url).replaceAll('dist/service/main.js', program)], { cwd: folder, env })
  await move(block(GUIDE, 'bash', 'main.js migrate'))
  t.strictSame([...mongo.majority().keys()], [1n, 2n, 3n])
  await service.end('SIGTERM')
  rmSync(DATA_DIR, { recursive: true })
  await move(block(GUIDE, 'bash', 'main.js import'))
  t.strictSame([...plantsInFile(join(DATA_DIR, 'plants.db')).keys()], [1n, 2n, 3n])
})

t.test('plants are listed, counted and deleted by sqlite3 while the service runs', withSqlite, async t => {
  const folder = testFolder(t)
  const service = await startService(t, { DATA_DIR: join(folder, 'data'), ACCESS_TOKENS: token })
  for (const id of [1, 2, 3]) await create(service.address, { id })
  const output = shell(folder, block(GUIDE, 'bash', 'sqlite3 data/plants.db'))
  t.equal(output, '1|Monstera|\n2|Monstera|\n3|Monstera|\n3\n5000\n')
  t.strictSame([...plantsInFile(join(folder, 'data', 'plants.db')).keys()], [2n, 3n])
  t.equal((await create(service.address, { id: 1 })).status, 200, 'the id is free again')
})

// The guide names the versions of Node that have it.
if (isBuiltin('node:sqlite')) {
  t.test('Node itself lists plants, with every id', async t => {
    const folder = testFolder(t)
    const service = await startService(t, { DATA_DIR: join(folder, 'data'), ACCESS_TOKENS: token })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await fetch(`${service.address}/plants`, { method: 'POST', headers, body: '{"id":9223372036854775807,"name":"Monstera"}' })
    const output = shell(folder, block(GUIDE, 'bash', 'node:sqlite'))
    t.match(output, /│ '9223372036854775807' +│ 'Monstera' +│ null +│/)
  })
}
