import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { StoreUnusable, type NewPlant, type PlantStore } from '../../../src/stores/plant-store.js'
import { openPlantsFile } from '../../../src/commands/sources/sqlite-source.js'
import { PlantsTable } from '../../../src/stores/sqlite/plants-table.js'
import { sqlitePlantStore } from '../../../src/stores/sqlite/sqlite-plant-store.js'
import { testFolder } from '../../support/process/program.js'
import { mountFile, mountSmallDisk, withSmallDisk } from '../../support/process/small-disk.js'
import {
  DatabaseSync, execute, makeWithLog, openSqlite, plantsInFile, storeAt, threadsOf
} from '../../support/stores/sqlite-file.js'

const TABLE = 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)'
const FICUS = { id: 1n, name: 'Ficus' }
const FERN = { id: 2n, name: 'Fern' }
const MOSS = { id: 3n, name: 'Moss' }

async function openStore (t: Test, path: string): Promise<PlantStore> {
  const store = storeAt(t, path)
  await store.open()
  return store
}

async function outcomes (store: PlantStore, plants: readonly NewPlant[]): Promise<string[]> {
  return await Promise.all(plants.map(plant => store.create(plant, performance.now() + 10_000)))
}

function first (path: string, sql: string): unknown {
  const database = openSqlite(path)
  const row = database.prepare(sql).get() as Record<string, unknown>
  database.close()
  return Object.values(row)[0]
}

t.test('a new file is created with its folders and the documented table, which any SQLite tool can read', async t => {
  const path = join(t.testdir(), 'a', 'b', 'c', 'plants.db')
  const store = await openStore(t, path)
  const plants = [{ id: 1n, name: 'Ficus', tag: 'tree' }, { id: -5n, name: 'Fern' }]
  t.strictSame(await outcomes(store, plants), ['stored', 'stored'])
  t.equal(first(path, "SELECT sql FROM sqlite_schema WHERE name = 'plants'"), TABLE)
  t.equal(first(path, 'PRAGMA user_version'), 1)
  t.equal(first(path, 'PRAGMA journal_mode'), 'wal')
  const stored = plantsInFile(path)
  t.strictSame([...stored.keys()], [-5n, 1n])
  t.strictSame([...stored.values()], [{ name: 'Fern' }, { name: 'Ficus', tag: 'tree' }])
})

t.test('an empty file is accepted, and so is a table that another tool restored, without the format version', async t => {
  const folder = t.testdir({ 'empty.db': '' })
  t.strictSame(await outcomes(await openStore(t, join(folder, 'empty.db')), [{ id: 1n, name: 'Ficus' }]), ['stored'])

  const restored = join(folder, 'restored.db')
  execute(restored, `PRAGMA foreign_keys = OFF; BEGIN TRANSACTION; ${TABLE};
    INSERT INTO plants VALUES(1, 'Ficus', NULL); COMMIT`)
  const store = await openStore(t, restored)
  t.strictSame(await outcomes(store, [{ id: 1n, name: 'Ficus' }, { id: 2n, name: 'Fern' }]), ['same', 'stored'])
  t.equal(first(restored, 'PRAGMA user_version'), 1)
})

t.test('columns that someone added, and that need no value, change nothing', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = await openStore(t, path)
  t.strictSame(await outcomes(store, [{ id: 1n, name: 'Ficus' }]), ['stored'])
  const added = [
    'created_at TEXT', "place TEXT NOT NULL DEFAULT 'garden'", 'length AS (length(name)) VIRTUAL', '"a ""b""" BLOB'
  ]
  for (const column of added) execute(path, `ALTER TABLE plants ADD COLUMN ${column}`)
  t.strictSame(await outcomes(store, [FICUS, FERN]), ['same', 'stored'], 'while it is open')
  await store.close?.()
  const next = await openStore(t, path)
  t.strictSame(await outcomes(next, [FERN, MOSS]), ['same', 'stored'], 'at the next start')
  t.equal(first(path, 'SELECT group_concat(DISTINCT place) FROM plants'), 'garden')

  const other = join(t.testdir(), 'other.db')
  execute(other, `CREATE TABLE Plants(
    upper TEXT AS (upper(name)) STORED NOT NULL, tag text, NAME text NOT NULL, Id integer PRIMARY KEY)`)
  const otherStore = await openStore(t, other)
  t.strictSame(await outcomes(otherStore, [{ ...FICUS, tag: 'tree' }]), ['stored'], 'in any order and case')
  t.strictSame(plantsInFile(other), new Map([[1n, { name: 'Ficus', tag: 'tree' }]]))
})

t.test('a path at which no file can be is refused with what is in the way, and a missing path with a TypeError', async t => {
  const folder = t.testdir({ file: 'x', 'folder.db': {} })
  const cases: { path: string, message: string }[] = [
    { path: join(folder, 'file', 'sub', 'plants.db'), message: `${folder}/file is a file, but must be a folder: move it away, or choose another folder` },
    { path: join(folder, 'folder.db'), message: `${folder}/folder.db is a folder, but must be a file: move it away, or choose another folder` },
    { path: '/dev/null', message: '/dev/null is not a regular file, but must be a file: move it away, or choose another folder' }
  ]
  for (const { path, message } of cases) {
    await t.rejects(storeAt(t, path).open(), { name: StoreUnusable.name, message: `SQLite: ${message}` })
  }
  for (const path of [undefined, '', 12, null, ':memory:', 'file:plants.db']) {
    t.throws(() => sqlitePlantStore({ path: path as string }), { name: 'TypeError', message: /option path .* memoryPlantStore\(\)$/ })
  }
})

t.test('a backup that was copied over the file beside the log of the old one is not opened, and not changed', async t => {
  const folder = t.testdir({ 'link.db': t.fixture('symlink', 'plants.db') })
  const path = join(folder, 'plants.db')
  makeWithLog(path, 3_000)
  execute(join(folder, 'backup.db'), `${TABLE}; INSERT INTO plants VALUES (7, 'Fern', NULL); PRAGMA user_version = 1`)
  const message = /^(SQLite: |.* cannot be read: )(\S+plants\.db-wal) is the log of another database than .*: move \2 and its -shm away/
  for (const content of [readFileSync(join(folder, 'backup.db')), Buffer.alloc(0)]) {
    writeFileSync(path, content)
    for (const at of [path, join(folder, 'link.db')]) {
      const store = storeAt(t, at)
      await t.rejects(store.open(), { name: StoreUnusable.name, message })
      await t.rejects(store.create({ id: 1n, name: 'Ficus' }, performance.now() + 10_000), { permanent: true, message })
      await t.rejects(openPlantsFile(at), { name: 'Error', message })
      await store.close()
    }
    t.ok(readFileSync(path).equals(content))
  }
  rmSync(path)
  await t.rejects(storeAt(t, path).open(), { name: StoreUnusable.name, message }, 'nor is a log without a file emptied')

  writeFileSync(path, readFileSync(join(folder, 'backup.db')))
  for (const suffix of ['-wal', '-shm']) renameSync(`${path}${suffix}`, `${path}${suffix}.old`)
  t.strictSame(await outcomes(await openStore(t, path), [{ id: 7n, name: 'Fern' }]), ['same'])
})

const replacements: { what: string, found: bigint[] }[] = [
  { what: 'deleted', found: [] },
  { what: 'moved away', found: [] },
  { what: 'replaced by a backup', found: [1n] },
  { what: 'replaced by a live file', found: [1n, 2n, 3n] }
]

for (const { what, found } of replacements) {
  t.test(`a file that is ${what} while open gets no further plant until a restart, and the new one is not harmed`, async t => {
    const path = join(t.testdir(), 'plants.db')
    const store = await openStore(t, path) as Required<PlantStore>
    t.strictSame(await outcomes(store, [{ id: 1n, name: 'Ficus' }]), ['stored'])
    if (what === 'deleted') rmSync(path)
    else {
      execute(path, `VACUUM INTO '${path}.new'`)
      t.strictSame(await outcomes(store, [{ id: 2n, name: 'Fern' }]), ['stored'])
      renameSync(path, `${path}.old`)
    }
    if (what === 'replaced by a backup') renameSync(`${path}.new`, path)
    if (what === 'replaced by a live file') {
      makeWithLog(`${path}.new`, 3)
      for (const suffix of ['-wal', '-shm', '']) renameSync(`${path}.new${suffix}`, `${path}${suffix}`)
    }
    const message = /^SQLite: .*plants\.db was deleted, moved or replaced while it was open: .* restart$/
    const refusal = { name: 'PlantNotStored', permanent: true, message }
    const began = performance.now()
    await t.rejects(store.create(MOSS, performance.now() + 10_000), refusal)
    t.ok(performance.now() - began < 5_000, 'at once')
    await t.rejects(store.ready(), { message })
    t.equal(existsSync(path), what.startsWith('replaced'), 'no file is created')
    await store.close()

    if (what !== 'deleted') {
      t.strictSame([...plantsInFile(`${path}.old`).keys()], [1n, 2n], 'the old file is complete without its log')
    }
    await openStore(t, path)
    t.strictSame(first(path, 'PRAGMA integrity_check'), 'ok')
    t.strictSame([...plantsInFile(path).keys()], found)
  })
}

t.test('a file that is replaced while its thread dies is not opened by the next thread', async t => {
  const path = join(t.testdir(), 'plants.db')
  const { threads, kill } = threadsOf(t)
  const store = await openStore(t, path)
  t.strictSame(await outcomes(store, [{ id: 1n, name: 'Ficus' }]), ['stored'])
  execute(path, `VACUUM INTO '${path}.new'`)
  renameSync(`${path}.new`, path)
  kill()
  await new Promise(resolve => threads[0]?.once('exit', resolve))
  await t.rejects(outcomes(store, [{ id: 1n, name: 'Ficus' }]), { name: 'PlantNotStored', message: /was deleted, moved or replaced/ })
})

t.test('on a file system that is read-only, the message says so', withSmallDisk, async t => {
  const folder = testFolder(t)
  mountSmallDisk(t, folder, '1m')('1m,ro')
  await t.rejects(storeAt(t, join(folder, 'plants.db')).open(), {
    name: StoreUnusable.name, message: `SQLite: ${folder} is on a file system that is read-only: mount it for writing, or choose another folder`
  })
})

t.test('a file that is mounted without its folder is refused, since its log would be lost', withSmallDisk, async t => {
  const folder = testFolder(t)
  for (const name of ['disk', 'data']) mkdirSync(join(folder, name))
  mountSmallDisk(t, join(folder, 'disk'), '1m')
  writeFileSync(join(folder, 'disk', 'plants.db'), '')
  const path = join(folder, 'data', 'plants.db')
  writeFileSync(path, '')
  mountFile(t, join(folder, 'disk', 'plants.db'), path)
  // In an empty file, and in one with the table.
  const message = /plants\.db is mounted without its folder, .*: mount the folder$/
  for (let turn = 0; turn < 2; turn++) {
    await t.rejects(storeAt(t, path).open(), { name: StoreUnusable.name, message })
  }
  symlinkSync(join(folder, 'disk', 'plants.db'), join(folder, 'link.db'))
  const linked = await openStore(t, join(folder, 'link.db'))
  t.strictSame(await outcomes(linked, [FICUS]), ['stored'], 'a link to another disk is not')
})

t.test('the log shrinks to 32 MiB once the reader that kept it from being emptied has ended', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = new PlantsTable(DatabaseSync, path)
  t.teardown(() => table.close())
  table.write([[1n, 'Ficus', null]])
  const reader = openSqlite(path)
  reader.exec('BEGIN; SELECT * FROM plants')
  const name = 'x'.repeat(5_000_000)
  for (let id = 2n; id < 10n; id++) table.write([[id, name, null]])
  t.ok(statSync(`${path}-wal`).size > 38_000_000)
  reader.close()
  // The first commit empties the log, and the second one begins it anew.
  for (const id of [10n, 11n]) table.write([[id, 'Fern', null]])
  t.ok(statSync(`${path}-wal`).size <= 2 ** 25)
})
