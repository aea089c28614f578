import { execFile } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { makeCertificate } from '../support/process/make-certificate.js'
import { needsProgram } from '../support/process/needs.js'
import {
  create, documented, program, projectFile, startService, testFolder, token
} from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'

const { PATH, HOME } = process.env

/** Runs a documented command with the test's own folders, and other replacements; returns its output. */
async function shell (folder: string, command: string, others: Record<string, string> = {}): Promise<string> {
  const replacements = {
    ...others,
    '/var/lib/plant-store': join(folder, 'data'),
    '/var/backups/plant-store': join(folder, 'backups'),
    '/opt/plant-store': folder,
    '/etc/plant-store': folder,
    'dist/service/main.js': program
  }
  for (const [path, own] of Object.entries(replacements)) command = command.replaceAll(path, own)
  const env = { PATH: `${dirname(process.execPath)}:${PATH}`, HOME }
  return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], { cwd: folder, env })).stdout
}

/** Starts a service with three plants in the folder `data`. */
async function serviceWithPlants (t: Test) {
  const folder = testFolder(t)
  const DATA_DIR = join(folder, 'data')
  const service = await startService(t, { DATA_DIR, ACCESS_TOKENS: token })
  for (const id of [1, 2, 3]) {
    const response = await create(service.address, { id })
    t.equal(response.status, 200, await response.text())
  }
  return { folder, DATA_DIR, service, stored: () => [...plantsInFile(join(DATA_DIR, 'plants.db')).keys()] }
}

t.test('the documentation lists exactly the metrics of the service', async t => {
  const { cert, key } = makeCertificate(testFolder(t), 'plants')
  const service = await startService(t, { METRICS_PORT: '0', TLS_CERT_FILE: cert, TLS_KEY_FILE: key })
  const { port } = await service.logged('metrics on port')
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const types = [...metrics.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name)
  const served = types.filter(name => !/^(?:process|nodejs)_/.test(name))
  const names = readdirSync(projectFile('docs')).filter(name => name.endsWith('.md'))
  const pages = names.map(name => readFileSync(projectFile(`docs/${name}`), 'utf8')).join('\n')
  const cells = [...pages.matchAll(/^\| (`(?:http|plant_store)_.*?) \|/gm)].map(([, cell = '']) => cell)
  const listed = cells.flatMap(cell => cell.match(/\w+/g) ?? [])
  t.strictSame(listed.sort(), served.sort())
})

t.test('a backup of the running service is restored, and plants created after it are recovered', async t => {
  const { folder, DATA_DIR, service, stored } = await serviceWithPlants(t)
  await shell(folder, documented('main.js backup'))
  const [name = ''] = readdirSync(join(folder, 'backups'))
  await create(service.address, { id: 4 })
  const wait = `while kill -0 ${service.pid} 2> /dev/null; do sleep 0.1; done`
  const stop = `systemctl () { [ "$1" = start ] || { kill ${service.pid}; ${wait}; }; }`
  await shell(folder, `${stop}\n${documented('systemctl stop')}`, { 'plants-2026-01-31.db': name })
  await startService(t, { DATA_DIR, ACCESS_TOKENS: token })
  t.strictSame(stored(), [1n, 2n, 3n])
  const [old = ''] = readdirSync(DATA_DIR).filter(name => name.startsWith('before-restore-'))
  const counts = await shell(folder, documented('main.js export |'), { 'before-restore-2026-02-01T093000': old })
  t.equal(counts, 'copied 1, already there 3, in conflict 0, invalid 0\n')
  t.strictSame(stored(), [1n, 2n, 3n, 4n])
})

t.test('plants move from SQLite to MongoDB and back', async t => {
  const { folder, DATA_DIR, service, stored } = await serviceWithPlants(t)
  const mongo = await ScriptedMongo.start(t)
  const move = async (text: string) => shell(folder, documented(text), { 'mongodb://…': mongo.url })
  await move('main.js migrate')
  t.strictSame([...mongo.majority().keys()], [1n, 2n, 3n])
  await service.end('SIGTERM')
  rmSync(DATA_DIR, { recursive: true })
  await move('import back.ndjson')
  t.strictSame(stored(), [1n, 2n, 3n])
  t.equal(await move('import plants.ndjson'), 'copied 0, already there 3, in conflict 0, invalid 0\n')
})

const withSqlite3 = needsProgram('sqlite3')

t.test('plants are listed by Node and by sqlite3, counted and deleted while the service runs', withSqlite3, async t => {
  const { folder, service, stored } = await serviceWithPlants(t)
  // The documentation names the versions of Node that have node:sqlite.
  if (isBuiltin('node:sqlite')) {
    t.match(await shell(folder, documented('node:sqlite')), /│ '3' +│ 'Monstera' +│ null +│/)
  }
  t.equal(
    await shell(folder, documented('sqlite3 data/plants.db', 'docs/plants-in-and-out.md')),
    '1|Monstera|\n2|Monstera|\n3|Monstera|\n3\n'
  )
  t.strictSame(stored(), [2n, 3n])
  t.equal((await create(service.address, { id: 1 })).status, 200, 'the id is free again')
})

t.test('a token is rotated, and the file keeps its mode', async t => {
  const old = 'the-old-access-token'
  const file = join(testFolder(t), 'access-tokens')
  for (const content of [`${old}\n`, old, `another-access-token, ${old}`]) {
    writeFileSync(file, content)
    chmodSync(file, 0o640)
    const service = await startService(t, { ACCESS_TOKENS_FILE: file, NODE_ENV: 'production' })
    const follow = async (text: string, times: number) => {
      await shell(dirname(file), `systemctl () { kill -HUP ${service.pid}; }\n${documented(text)}`)
      await service.logged('SIGHUP', times)
      t.equal(statSync(file).mode & 0o777, 0o640)
    }
    const status = async (bearer: string) => (await create(service.address, { bearer })).status

    await follow('printf', 1)
    const added = readFileSync(file, 'utf8').trim().split(/\s+/).at(-1) ?? ''
    t.match(added, /^[\da-f]{48}$/)
    t.strictSame([await status(old), await status(added)], [200, 200], 'both are accepted')
    await follow('tail -n 1', 2)
    t.equal(readFileSync(file, 'utf8'), `${added}\n`)
    t.strictSame([await status(old), await status(added)], [401, 200], 'the old one is no longer accepted')
  }
})
