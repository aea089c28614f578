import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { needs, needsProgram } from '../../support/process/needs.js'
import { testFolder } from '../../support/process/program.js'
import { openSqlite, plantsInFile, storeAt } from '../../support/stores/sqlite-file.js'
import { inProcess } from './in-process.js'
import { makeWithLog, threadsOf } from './tables-and-threads.js'

const soon = (ms = 10_000) => performance.now() + ms

/** Opens and closes the database as another program, which removes the log if it is the last to use the file. */
function openElsewhere (path: string): void {
  const { status, stderr } = spawnSync('sqlite3', [path, 'SELECT count(*) FROM plants'], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

const withProc = needs(existsSync('/proc/self/fd') ? undefined : 'there is no /proc/self/fd')

t.test('stores leave no descriptor, thread or listener, and share one: Node warns of eleven', withProc, async t => {
  const folder = t.testdir()
  const { threads } = threadsOf(t)
  const counts = () => ({ descriptors: readdirSync('/proc/self/fd').length, listeners: process.listenerCount('exit') })
  let before = counts()
  for (let number = 0; number < 3; number++) {
    const path = join(folder, `${number}.db`)
    makeWithLog(path)
    const stores = [storeAt(t, path), storeAt(t, path)]
    await Promise.all(stores.map(store => store.open()))
    if (number > 0) t.equal(counts().listeners, before.listeners + 1)
    const exits = threads.splice(0).map(thread => once(thread, 'exit'))
    await Promise.all(stores.map(store => store.close()))
    t.strictSame(await Promise.all(exits), [[0], [0]])
    // With the first ones, Node adds what it needs for threads.
    if (number === 0) before = counts()
  }
  t.strictSame(counts(), before)
})

t.test('a store with a log leaves the locks of other connections of its process', needsProgram('sqlite3'), async t => {
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

t.test('a process that exits during writes keeps its exit code, loses no plant, and closes its files', async t => {
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
  t.equal(status, 3)
  // What Node says under `npm run coverage` if it exits while a thread writes its part.
  t.equal(stderr.replaceAll('Failed to stringify coverage profile result\n', ''), '')
  const { stored, took } = JSON.parse(stdout) as { stored: number, took: number }
  t.strictSame(readdirSync(folder).sort(), ['one.db', 'two.db'], 'no log is left to be recovered')
  const found = plantsInFile(join(folder, 'one.db')).size + plantsInFile(join(folder, 'two.db')).size
  t.ok(stored > 0 && found >= stored, `${stored} acknowledged`)
  t.ok(took < 1_900, `the process waits for its threads, and no longer than that: ${took} ms`)
})

const canSwitchUsers = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0
const asTwoUsers = needs(canSwitchUsers ? undefined : 'two users need root and setpriv (util-linux)')
const OWNER = 64_001
const MEMBER = 64_002
const GROUP = 64_000

/** A folder of the group with a database, and its log, of a user. */
function groupFile (t: Test, user: number): string {
  const folder = testFolder(t)
  const path = join(folder, 'plants.db')
  makeWithLog(path)
  for (const file of [folder, path, `${path}-wal`, `${path}-shm`]) chownSync(file, user, GROUP)
  chmodSync(folder, 0o2770)
  return path
}

/** Opens stores as the member of the group; returns why they could not be opened. */
function refusalsOfMember (paths: readonly string[]): string[] {
  const runner = ['setpriv', `--reuid=${MEMBER}`, `--regid=${GROUP}`, '--clear-groups']
  const { stdout } = inProcess(`
    const results = []
    for (const path of ${JSON.stringify(paths)}) {
      const store = sqlitePlantStore({ path })
      results.push(await store.open().catch(error => error.name + ': ' + error.message))
      await store.close()
    }
    console.log(JSON.stringify(results))`, { runner })
  return JSON.parse(stdout)
}

t.test('a user who may not write the file, its log, its index or its folder learns what to look at', asTwoUsers, t => {
  const paths = ['-shm', '-wal', '', '/..'].map(suffix => {
    const path = groupFile(t, MEMBER)
    if (suffix === '/..') for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`)
    const file = suffix === '/..' ? dirname(path) : `${path}${suffix}`
    chownSync(file, OWNER, GROUP)
    chmodSync(file, suffix === '/..' ? 0o2550 : 0o640)
    return path
  })
  paths.push(join(dirname(paths.at(-1) ?? ''), 'new', 'folder', 'plants.db'))
  const closed = groupFile(t, MEMBER)
  chmodSync(dirname(closed), 0o600)
  paths.push(closed)
  for (const [index, refusal] of refusalsOfMember(paths).entries()) {
    t.match(refusal, `StoreUnusable: SQLite: ${paths[index]} cannot be opened for writing by this user, uid ${MEMBER}`)
    t.match(refusal, /: look at the path, the permissions of the file, of its -wal and -shm and of its folders, /)
  }
  t.end()
})
