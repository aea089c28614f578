import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { needs, needsProgram } from '../../support/process/needs.js'
import { bare, compiledPackage, program, testFolder } from '../../support/process/program.js'
import { DatabaseSync, makeWithLog, openSqlite, plantsInFile, storeAt } from '../../support/stores/sqlite-file.js'

const soon = (ms = 10_000) => performance.now() + ms

/** Runs JavaScript that can make stores, in a process of its own. */
function inProcess (code: string, options: readonly string[] = []) {
  const index = JSON.stringify(pathToFileURL(join(compiledPackage, 'src/index.js')))
  const script = `const { sqlitePlantStore } = await import(${index})\n${code}`
  const command = [process.execPath, ...options, '--input-type=module', '-e', script]
  return spawnSync('env', bare({ PATH: process.env.PATH }, command), { encoding: 'utf8' })
}

/** Opens and closes the database as another program, which removes the log if it is the last to use the file. */
function openElsewhere (path: string): void {
  const { status, stderr } = spawnSync('sqlite3', [path, 'SELECT count(*) FROM plants'], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

const withProc = needs(existsSync('/proc/self/fd') ? undefined : 'there is no /proc/self/fd')

t.test('stores that were opened with a log, and closed, leave no descriptor', withProc, async t => {
  const folder = t.testdir()
  const descriptors = () => readdirSync('/proc/self/fd').length
  let before = 0
  for (let number = 0; number <= 2; number++) {
    const path = join(folder, `${number}.db`)
    makeWithLog(path)
    const store = storeAt(t, path)
    t.equal(await store.create({ id: 1n, name: 'Ficus' }, soon()), 'same', 'the log is read')
    await store.close()
    // The first one makes Node open what it needs for threads.
    if (number === 0) before = descriptors()
  }
  t.equal(descriptors(), before)
})

t.test('a store that opens and closes a file with a log leaves the locks of other connections of its process', needsProgram('sqlite3'), async t => {
  const path = join(t.testdir(), 'plants.db')
  makeWithLog(path)
  const other = storeAt(t, path)
  await other.open()
  const hosts = openSqlite(path)
  hosts.exec('BEGIN; SELECT * FROM plants')
  const store = storeAt(t, path)
  t.equal(await store.create({ id: 2n, name: 'Fern' }, soon()), 'stored')
  await store.close()
  openElsewhere(path)
  t.ok(existsSync(`${path}-wal`), 'the other program is not the last one')
  await other.close()
  openElsewhere(path)
  t.ok(existsSync(`${path}-wal`), 'not even after another store was closed')
  hosts.close()
  openElsewhere(path)
  t.notOk(existsSync(`${path}-wal`))
})

t.test('all stores share one listener on the process, since Node warns of the eleventh, and leave none', async t => {
  const listeners = process.listenerCount('exit')
  const folder = t.testdir()
  const stores = ['one.db', 'two.db'].map(name => storeAt(t, join(folder, name)))
  await Promise.all(stores.map(store => store.open()))
  t.equal(process.listenerCount('exit'), listeners + 1)
  await Promise.all(stores.map(store => store.close()))
  t.equal(process.listenerCount('exit'), listeners)
})

t.test('a process that exits during a write keeps its exit code, loses no acknowledged plant, and closes its files', async t => {
  const folder = t.testdir()
  const { status, stdout, stderr } = inProcess(`
    const paths = ['one.db', 'two.db'].map(name => ${JSON.stringify(`${folder}/`)} + name)
    let [id, stored, began] = [0n, 0, 0]
    for (const path of paths) {
      const store = sqlitePlantStore({ path })
      const client = async () => {
        for (;;) {
          await store.create({ id: ++id, name: 'x' }, performance.now() + 10_000)
          stored++
        }
      }
      for (let i = 0; i < 500; i++) client()
      while (stored === 0) await new Promise(resolve => setTimeout(resolve, 5))
    }
    process.on('exit', () => { process.stdout.write(JSON.stringify({ stored, took: performance.now() - began })) })
    setTimeout(() => { began = performance.now(); process.exit(3) }, 100)`)
  t.strictSame([status, stderr], [3, ''])
  const { stored, took } = JSON.parse(stdout) as { stored: number, took: number }
  t.strictSame(readdirSync(folder).sort(), ['one.db', 'two.db'], 'no log is left to be recovered')
  const found = plantsInFile(join(folder, 'one.db')).size + plantsInFile(join(folder, 'two.db')).size
  t.ok(stored > 0 && found >= stored, `${stored} acknowledged`)
  t.ok(took < 1_900, `the process waits for its threads, and no longer than that: ${took} ms`)
})

t.test('under Node\'s permission model, the store says what to allow', async t => {
  const isStable = process.allowedNodeEnvironmentFlags.has('--permission')
  const permission = isStable ? '--permission' : '--experimental-permission'
  const folder = t.testdir()
  const script = `
    const store = sqlitePlantStore({ path: ${JSON.stringify(join(folder, 'plants.db'))} })
    const outcome = await store.open().catch(error => error.name + ': ' + error.message)
    await store.close()
    process.stdout.write(String(outcome))`
  const advice = `: start Node with --allow-worker, with --allow-fs-read for the code, and with --allow-fs-read and --allow-fs-write for ${folder}`
  const { stdout } = inProcess(script, [permission, '--allow-fs-read=*'])
  t.match(stdout, `StoreUnusable: SQLite: Node's permission model denies WorkerThreads${advice}`)
})

const canSwitchUsers = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0
const asTwoUsers = needs(canSwitchUsers ? undefined : 'two users need root and setpriv (util-linux)')
const SERVICE = 64_001
const MEMBER = 64_002
const GROUP = 64_000

/** Runs a command as a user of the group. */
function runAs (uid: number, env: NodeJS.ProcessEnv, ...command: string[]) {
  const user = ['setpriv', `--reuid=${uid}`, `--regid=${GROUP}`, '--clear-groups', ...command]
  return spawnSync('env', bare({ PATH: process.env.PATH, ...env }, user), { encoding: 'utf8' })
}

/** A folder of the group with a database of the service's user. */
function groupFolder (t: Test): { folder: string, path: string } {
  const folder = testFolder(t)
  chownSync(folder, SERVICE, GROUP)
  chmodSync(folder, 0o2770)
  const path = join(folder, 'plants.db')
  const database = new DatabaseSync(path)
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT); INSERT INTO plants VALUES (1, 'Ficus', NULL)")
  database.close()
  chownSync(path, SERVICE, GROUP)
  chmodSync(path, 0o640)
  return { folder, path }
}

t.test('an export by another user of the group, while no service runs, leaves no file beside the database', asTwoUsers, async t => {
  const { folder, path } = groupFolder(t)
  const exported = runAs(MEMBER, { DATA_DIR: folder }, process.execPath, program, 'export')
  t.match(exported, { status: 0, stdout: '{"id":1,"name":"Ficus"}\n' })
  t.strictSame(readdirSync(folder), ['plants.db'])
  t.equal(statSync(path).uid, SERVICE)

  // While a service runs, it is its log that is read.
  const store = storeAt(t, path)
  t.equal(await store.create({ id: 2n, name: 'Fern' }, soon()), 'stored')
  for (const suffix of ['-wal', '-shm']) chmodSync(`${path}${suffix}`, 0o660)
  t.match(runAs(MEMBER, { DATA_DIR: folder }, process.execPath, program, 'export'), { status: 0, stdout: /Fern/ })
})

t.test('what keeps a user from writing is named: the file, its owner, and what to do', asTwoUsers, async t => {
  const uids = `belongs to uid ${MEMBER}, cannot be written by this user (uid ${SERVICE})`
  const paths = ['-shm', '-wal', '', 'folder'].map(culprit => {
    const { folder, path } = groupFolder(t)
    makeWithLog(path)
    for (const suffix of ['', '-wal', '-shm']) chownSync(`${path}${suffix}`, SERVICE, GROUP)
    if (culprit === 'folder') {
      for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`)
      chmodSync(folder, 0o2550)
    } else {
      chownSync(`${path}${culprit}`, MEMBER, GROUP)
      chmodSync(`${path}${culprit}`, 0o640)
    }
    return path
  })
  const open = () => runAs(SERVICE, {}, process.execPath, '--input-type=module', '-e', `
    const { sqlitePlantStore } = await import(${JSON.stringify(pathToFileURL(join(compiledPackage, 'src/index.js')))})
    for (const path of ${JSON.stringify(paths)}) {
      const store = sqlitePlantStore({ path })
      console.log(await store.open().catch(error => error.message))
      await store.close()
    }`).stdout.trim().split('\n')
  const [shm, wal, file, inFolder] = paths as [string, string, string, string]
  t.strictSame(open(), [
    `SQLite: ${shm}-shm, which ${uids}: while no program has the database open, give it the owner of the database: chown --reference=${shm} ${shm}-shm`,
    `SQLite: ${wal}-wal, which ${uids}: while no program has the database open, give it the owner of the database: chown --reference=${wal} ${wal}-wal`,
    `SQLite: ${file}, which ${uids}: give this user write permission`,
    `SQLite: ${dirname(inFolder)}, which belongs to uid ${SERVICE}, cannot be written by this user (uid ${SERVICE}): give this user write permission, or choose another folder`
  ])
})
