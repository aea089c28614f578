import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { createFile } from '../../src/commands/targets/new-file.js'
import { lost, overHttp, PlantClients } from '../support/http/plant-clients.js'
import { failingCalls, withCompiler } from '../support/process/failing-calls.js'
import { Program, program, run, startService, testFolder, token } from '../support/process/program.js'
import { mountSmallDisk, withSmallDisk } from '../support/process/small-disk.js'
import { openSqlite, plantsInFile } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { bytesOfPlants, fill, hardPlants, manyPlants, partial } from './plants.js'
import { runHere } from './run-here.js'

t.test('a backup is a complete database with the plants to the byte, and replaces no file', async t => {
  const folder = testFolder(t)
  fill(folder, hardPlants)
  chmodSync(join(folder, 'plants.db'), 0o640)
  const file = join(folder, 'backup.db')
  const { code, stdout, stderr } = await runHere(['backup', file], { DATA_DIR: folder })
  t.equal(code, 0, stderr)
  t.equal(stdout, '')
  t.match(stderr, /^backup: \d+ MB$/m)
  t.ok(isDeepStrictEqual(bytesOfPlants(file), bytesOfPlants(join(folder, 'plants.db'))))
  t.equal(statSync(file).mode & 0o007, 0, 'the backup is not readable by more users than the database')
  const bytes = readFileSync(file)

  const again = await runHere(['backup', file], { DATA_DIR: folder })
  t.equal(again.code, 1)
  t.match(again.stderr, /^plant-store: .*backup\.db already exists.*\n$/)
  t.ok(readFileSync(file).equals(bytes))
  t.strictSame(partial(folder), [])
})

t.test('a backup of a running service is consistent and contains every plant acknowledged before it', async t => {
  const service = await startService(t)
  fill(service.folder, manyPlants(5_000, 1_000_000))
  const clients = new PlantClients(overHttp(service.address, token))
  const stop = clients.start(4)
  await until(() => clients.acknowledged.length > 50)
  const before = [...clients.acknowledged]
  const file = join(service.folder, 'backup.db')
  const { code, stderr } = await runHere(['backup', '--quiet', file], { DATA_DIR: service.folder })
  await stop()
  t.equal(code, 0, stderr)
  t.equal(stderr, '')
  t.strictSame(Object.keys(clients.counts), ['200'], 'every response is 200')

  const copy = openSqlite(file)
  t.strictSame({ ...copy.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
  t.strictSame({ ...copy.prepare('PRAGMA user_version').get() }, { user_version: 1 })
  copy.close()
  const plants = plantsInFile(file)
  t.strictSame(lost(before, plants), [])
  t.ok(plants.size >= 5_000 + before.length)
})

t.test('a backup that cannot be synced leaves no file', withCompiler, async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(3))
  const calls = failingCalls(folder, 'backup.db')
  calls.begin('sync')
  const { code, stderr } = await run(['backup', join(folder, 'backup.db')], { ...calls.env, DATA_DIR: folder })
  t.equal(code, 1)
  t.match(stderr, /^plant-store: .*(disk I\/O error|EIO)/m)
  t.notOk(existsSync(join(folder, 'backup.db')))
  t.strictSame(partial(folder), [])
})

t.test('a backup to a full disk leaves no file', withSmallDisk, async t => {
  const folder = testFolder(t)
  // More than SQLite's cache: it writes before the commit, and so needs a journal.
  fill(folder, manyPlants(4_000).map(plant => ({ ...plant, name: 'n'.repeat(1_000) })))
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  mountSmallDisk(t, disk, '1m')
  const { code, stderr } = await runHere(['backup', join(disk, 'backup.db')], { DATA_DIR: folder })
  t.equal(code, 1)
  t.match(stderr, /^plant-store: database or disk is full$/m)
  t.strictSame(readdirSync(disk), [])
})

t.test('failures are reported in one line', async t => {
  const folder = testFolder(t)
  const file = join(folder, 'backup.db')
  writeFileSync(join(folder, 'other'), '')
  fill(join(folder, 'data'), [])
  const here = { DATA_DIR: join(folder, 'data') }
  const nowhere = relative('.', join(folder, 'nowhere'))
  const cases = [
    { file, env: { ...here, MONGODB_URL: 'mongodb://127.0.0.1:1/' }, message: 'MONGODB_URL is set: back up MongoDB with its own tools, such as mongodump' },
    { file, env: { DATA_DIR: join(folder, 'nowhere') }, message: /^there is no .*plants\.db: set DATA_DIR .*$/ },
    // The folder and the file are named as the user named them.
    { file: join(nowhere, 'backup.db'), env: here, message: `there is no folder ${nowhere}: create it, or choose another name` },
    { file: join(folder, 'other', 'backup.db'), env: here, message: `ENOTDIR: not a directory, open '${join(folder, 'other', 'backup.db')}'` }
  ]
  for (const { file, env, message } of cases) {
    const { code, stderr } = await runHere(['backup', file, '--quiet'], env)
    t.equal(code, 1)
    t.match(stderr.replace('plant-store: ', '').trimEnd(), message)
  }
  t.notOk(existsSync(file))
})

t.test('a database on a disk that cannot be written is exported and copied, unless its log has to be read too', withSmallDisk, async t => {
  const folder = testFolder(t)
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  const remount = mountSmallDisk(t, disk, '8m')
  const plants = join(folder, 'plants.ndjson')
  const file = join(folder, 'backup.db')
  writeFileSync(plants, '{"id":1,"name":"Ficus"}\n{"id":2,"name":"Fern","tag":"green"}\n')
  t.match(await runHere(['import', plants], { DATA_DIR: disk }), { code: 0 })
  remount('8m,ro')
  // In a process of its own: the files of a connection are closed only when it ends.
  const { code, stdout, stderr } = await run(['export'], { DATA_DIR: disk })
  t.equal(code, 0, stderr)
  t.equal(stdout, readFileSync(plants, 'utf8'))
  t.match(await runHere(['backup', file], { DATA_DIR: disk }), { code: 0 })
  t.equal(plantsInFile(file).size, 2)

  remount('8m,rw')
  // As another user who may only read.
  chmodSync(folder, 0o755)
  const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, program, 'export']
  t.equal(execFileSync('setpriv', asNobody, { env: { DATA_DIR: disk }, encoding: 'utf8' }), stdout)
  const service = new Program([], { PORT: '0', ACCESS_TOKENS: token, DATA_DIR: disk })
  await service.ready()
  await service.end('SIGKILL')
  rmSync(join(disk, 'plants.db-shm'))
  remount('8m,ro')
  for (const args of [['export'], ['backup', join(folder, 'again.db')]]) {
    const { code, stderr } = await runHere(args, { DATA_DIR: disk })
    t.equal(code, 1)
    t.match(stderr, /^plant-store: .*plants\.db cannot be read: .*: copy it, with its -wal .*DATA_DIR to that folder$/m)
  }
})

const writeNew = async (path: string) => writeFileSync(path, 'new')

t.test('a file that another program creates meanwhile is not replaced', async t => {
  const folder = t.testdir()
  const path = join(folder, 'plants.ndjson')
  const creating = createFile(path, async partialPath => {
    await writeNew(partialPath)
    writeFileSync(path, 'of another')
  })
  await t.rejects(creating, { message: /plants\.ndjson already exists/ })
  t.equal(readFileSync(path, 'utf8'), 'of another')
  t.strictSame(readdirSync(folder), ['plants.ndjson'])
})

t.test('the partial files that killed processes left for a name are removed, and no other file', async t => {
  const { pid: ended } = spawnSync('true')
  const running = process.ppid
  const abandoned = [ended, process.pid].flatMap(pid => [`.b.db.${pid}-0123abcd.partial`, `.b.db.${pid}-0123abcd.partial-journal`])
  const others = [
    `.b.db.${running}-0123abcd.partial`, `.b.db.1.${ended}-0123abcd.partial`, `.a.b.db.${ended}-0123abcd.partial`,
    `.b.db.${ended}-0123abcd.partial.old`, 'b.db-journal', '.b.db'
  ]
  const folder = t.testdir(Object.fromEntries([...abandoned, ...others].map(name => [name, ''])))
  await createFile(join(folder, 'b.db'), async path => {
    t.notOk(abandoned.some(name => existsSync(join(folder, name))), 'before a long copy, which needs the space')
    await writeNew(path)
  })
  t.strictSame(readdirSync(folder).sort(), [...others, 'b.db'].sort())
})
