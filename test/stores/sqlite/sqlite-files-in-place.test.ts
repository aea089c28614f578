import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { PlantNotStored, type PlantStore } from '../../../src/plant-store.js'
import { execute, openSqlite, plantsInFile, storeAt } from '../../support/stores/sqlite-file.js'

const soon = (ms = 10_000) => performance.now() + ms
const plant = (id: number) => ({ id: BigInt(id), name: `plant ${id}` })

/** An open store with plant 1, in a file of the test's own. */
async function openStore (t: Test, folder = t.testdir({ data: {} })) {
  const path = join(folder, 'data', 'plants.db')
  const store = storeAt(t, path)
  await store.open()
  const create = (id: number): Promise<string | Error> => store.create(plant(id), soon()).catch((error: Error) => error)
  t.equal(await create(1), 'stored')
  return { store, folder, path, create }
}

/** The reason why the store is not ready, once it differs from `before`; undefined once the store is ready. */
async function readinessOtherThan (
  store: Required<PlantStore>, before: string | undefined
): Promise<string | undefined> {
  for (let turn = 0; turn < 200; turn++) {
    const fault = await store.ready().then(() => undefined, (error: Error) => error.message)
    if (fault !== before) return fault
    await sleep(50)
  }
  return before
}

/** The ids in a file, which must pass SQLite's integrity check. */
function idsIn (t: Test, path: string): number[] {
  const database = openSqlite(path)
  t.strictSame(database.prepare('PRAGMA integrity_check').all().map(row => ({ ...row })), [{ integrity_check: 'ok' }])
  database.close()
  return [...plantsInFile(path).keys()].map(Number)
}

t.test('after a database file is deleted while open, no further plant is acknowledged, and no new file is created', async t => {
  const { store, path, create } = await openStore(t)
  rmSync(path)
  const first = await create(2)
  const message = `SQLite: ${path} was deleted or moved away while it was open: put it back, or restart to begin with an empty one`
  t.match(first, { name: PlantNotStored.name, message, permanent: true })
  await t.rejects(store.ready(), { message })
  const began = performance.now()
  t.match(await create(3), { name: PlantNotStored.name, message, permanent: true })
  t.ok(performance.now() - began < 5_000, 'immediately')
  t.notOk(existsSync(path))
  await store.close()
  t.notOk(existsSync(`${path}-wal`), 'its log is not left for a file that is put there later')
})

t.test('a file that was moved away is used again once it is back', async t => {
  const { store, path, create } = await openStore(t)
  renameSync(path, `${path}.old`)
  t.type(await create(2), PlantNotStored)
  t.type(await create(3), PlantNotStored)
  renameSync(`${path}.old`, path)
  t.equal(await create(2), 'stored')
  t.equal(await create(3), 'stored')
  await t.resolves(store.ready())
  await store.close()
  t.strictSame(idsIn(t, path), [1, 2, 3])
})

t.test('a backup moved over the file is opened without the log of the old file', async t => {
  const { store, path, create } = await openStore(t)
  execute(path, `VACUUM INTO '${path}.backup'`)
  t.equal(await create(2), 'stored')
  renameSync(`${path}.backup`, path)
  t.equal(await create(3), 'stored')
  await t.resolves(store.ready())
  t.equal(await create(1), 'same')
  t.strictSame(idsIn(t, path), [1, 3])
  await store.close()
  t.strictSame(idsIn(t, path), [1, 3])
})

t.test('a file that was moved away and replaced is complete without its log', async t => {
  const { store, path, create } = await openStore(t)
  execute(path, `VACUUM INTO '${path}.backup'`)
  t.equal(await create(2), 'stored')
  renameSync(path, `${path}.old`)
  renameSync(`${path}.backup`, path)
  await t.rejects(store.ready(), { message: `SQLite: ${path} was replaced while it was open: reopening the file that is there now` })
  t.equal(await create(3), 'stored')
  t.strictSame(idsIn(t, `${path}.old`), [1, 2])
  await store.close()
  t.strictSame(idsIn(t, path), [1, 3])
})

t.test('a backup that is moved into place together with its log keeps the plants in that log', async t => {
  const { store, path, folder, create } = await openStore(t)
  const other = join(folder, 'other.db')
  execute(path, `VACUUM INTO '${other}'`)
  const writer = openSqlite(other)
  writer.exec("PRAGMA journal_mode = WAL; INSERT INTO plants VALUES (7, 'in the log', NULL)")
  const reader = openSqlite(other)
  for (const suffix of ['-shm', '-wal', '']) renameSync(`${other}${suffix}`, `${path}${suffix}`)
  t.equal(await create(3), 'stored')
  writer.close()
  reader.close()
  await store.close()
  t.strictSame(idsIn(t, path), [1, 3, 7])
})

for (const suffix of ['-wal', '-shm']) {
  for (const what of ['deleted', 'replaced']) {
    t.test(`no plant is lost if the ${suffix} file is ${what}`, async t => {
      const { store, path, create } = await openStore(t)
      rmSync(path + suffix)
      if (what === 'replaced') {
        writeFileSync(path + suffix, '')
        // Under load, only whether it is there is checked each time.
        await sleep(150)
      }
      t.equal(await create(2), 'stored')
      t.ok(existsSync(path + suffix), 'it is created again')
      t.strictSame(idsIn(t, path), [1, 2])
      await t.resolves(store.ready())
      t.equal(await create(3), 'stored')
      await store.close()
      t.strictSame(idsIn(t, path), [1, 2, 3])
    })
  }
}

t.test('the log is not removed while another program is reading it', async t => {
  const { store, path, create } = await openStore(t)
  execute(path, `VACUUM INTO '${path}.backup'`)
  const reader = openSqlite(path)
  reader.exec('BEGIN; SELECT * FROM plants')
  t.equal(await create(2), 'stored')
  renameSync(`${path}.backup`, path)
  await t.rejects(store.ready())
  await t.rejects(store.ready(), { message: /another program is reading the log of .*: stop that program$/ })
  reader.exec('COMMIT')
  reader.close()
  t.equal(await create(3), 'stored')
  t.strictSame(idsIn(t, path), [1, 3])
})

t.test('after the folder was moved away, plants are stored again once a new one contains a database', async t => {
  const { path, folder, create } = await openStore(t)
  renameSync(join(folder, 'data'), join(folder, 'away'))
  t.type(await create(2), PlantNotStored)
  mkdirSync(join(folder, 'data'))
  t.type(await create(3), PlantNotStored, 'an empty folder is not enough')
  execute(join(folder, 'away', 'plants.db'), `VACUUM INTO '${path}'`)
  t.equal(await create(3), 'stored')
  t.strictSame(idsIn(t, path), [1, 3])
})

t.test('after the database was replaced by an empty file or another program\'s, plants are refused until it is back', async t => {
  const { store, path, create } = await openStore(t)
  renameSync(path, `${path}.old`)
  writeFileSync(path, '')
  await create(2)
  const empty = `SQLite: ${path} was replaced by an empty file: put the database back, or restart to begin with an empty one`
  t.match(await create(2), { name: PlantNotStored.name, message: empty, permanent: true })
  rmSync(path)
  execute(path, 'CREATE TABLE songs(title TEXT)')
  const foreign = await readinessOtherThan(store, empty)
  t.match(foreign, /another program/)
  t.match(await create(2), { name: PlantNotStored.name, message: /another program/, permanent: true })
  renameSync(`${path}.old`, path)
  t.equal(await readinessOtherThan(store, foreign), undefined)
  t.match(await create(2), /^(stored|same)$/)
  t.equal(await create(1), 'same')
})

t.test('for a symbolic link, the file it points to is watched, with its log', async t => {
  const folder = t.testdir({ data: { 'plants.db': t.fixture('symlink', '../real/database') }, real: {} })
  const database = join(folder, 'real', 'database')
  const { path, create } = await openStore(t, folder)
  rmSync(`${database}-wal`)
  t.equal(await create(2), 'stored')
  t.strictSame(idsIn(t, database), [1, 2])
  execute(path, `VACUUM INTO '${database}.backup'`)
  rmSync(path)
  symlinkSync(`${database}.backup`, path)
  t.equal(await create(3), 'stored')
  t.strictSame(idsIn(t, `${database}.backup`), [1, 2, 3])
})
