import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openPlantsFile } from '../../../src/service/commands/sources/sqlite-source.js'
import { PlantsTable, type Row } from '../../../src/stores/sqlite/plants-table.js'
import { sqlitePlantStore } from '../../../src/stores/sqlite/sqlite-plant-store.js'
import { testFolder } from '../../support/process/program.js'
import { mountFile, mountSmallDisk, withSmallDisk } from '../../support/process/small-disk.js'
import { DatabaseSync, execute, openSqlite, plantsInFile, storeAt, TABLE } from '../../support/stores/sqlite-file.js'
import { makeWithLog, openTable, threadsOf } from './tables-and-threads.js'

const FICUS: Row = [1n, 'Ficus', null]
const FERN: Row = [2n, 'Fern', 'green']
const MOSS: Row = [3n, 'Moss', null]

function first (path: string, sql: string): unknown {
  const database = openSqlite(path)
  const row = database.prepare(sql).get() as Record<string, unknown>
  database.close()
  return Object.values(row)[0]
}

t.test('a new file is created with its folders and the documented table, which any SQLite tool can read', async t => {
  const path = join(t.testdir(), 'a', 'b', 'c', 'plants.db')
  t.strictSame(openTable(t, path).write([FERN, [-5n, 'Ficus', null]]), ['stored', 'stored'])
  t.equal(first(path, "SELECT sql FROM sqlite_schema WHERE name = 'plants'"), `${TABLE})`)
  t.equal(first(path, 'PRAGMA user_version'), 1)
  t.equal(first(path, 'PRAGMA journal_mode'), 'wal')
  t.strictSame([...plantsInFile(path)], [[-5n, { name: 'Ficus' }], [2n, { name: 'Fern', tag: 'green' }]])
})

t.test('an empty file is accepted, and so is a table that another tool restored, without its format', async t => {
  const folder = t.testdir({ 'empty.db': '' })
  t.strictSame(openTable(t, join(folder, 'empty.db')).write([FICUS]), ['stored'])
  const restored = join(folder, 'restored.db')
  execute(restored, `BEGIN TRANSACTION; ${TABLE}); INSERT INTO plants VALUES(1, 'Ficus', NULL); COMMIT`)
  t.strictSame(openTable(t, restored).write([FICUS, FERN]), ['same', 'stored'])
  t.equal(first(restored, 'PRAGMA user_version'), 1)
})

t.test('columns that someone added, and that need no value, change nothing', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  t.strictSame(table.write([FICUS]), ['stored'])
  const added = [
    'created_at TEXT', "place TEXT NOT NULL DEFAULT 'garden'", 'length AS (length(name)) VIRTUAL', '"a ""b""" BLOB'
  ]
  for (const column of added) execute(path, `ALTER TABLE plants ADD COLUMN ${column}`)
  t.strictSame(table.write([FICUS, FERN]), ['same', 'stored'], 'while it is open')
  t.strictSame(openTable(t, path).write([FERN, MOSS]), ['same', 'stored'], 'at the next start')
  t.equal(first(path, 'SELECT group_concat(DISTINCT place) FROM plants'), 'garden')

  const other = join(t.testdir(), 'other.db')
  execute(other, `CREATE TABLE Plants(
    upper TEXT AS (upper(name)) STORED NOT NULL, tag text, NAME text NOT NULL, Id integer PRIMARY KEY)`)
  t.strictSame(openTable(t, other).write([FERN]), ['stored'], 'in any order and case')
  t.strictSame(plantsInFile(other), new Map([[2n, { name: 'Fern', tag: 'green' }]]))
})

t.test('a path at which no file can be is refused with what is in the way, a missing one with a TypeError', async t => {
  const folder = t.testdir({ file: 'x', 'folder.db': {}, 'loop.db': t.fixture('symlink', 'loop.db') })
  const uid = process.getuid?.()
  const cases: { path: string, message: string }[] = [
    { path: join(folder, 'file', 'sub', 'plants.db'), message: 'ENOTDIR' },
    { path: join(folder, 'folder.db'), message: `${folder}/folder.db is not a file: move it away, ` },
    { path: '/dev/null', message: '/dev/null is not a file: move it away, ' },
    { path: join(folder, 'loop.db'), message: `loop.db cannot be opened for writing by this user, uid ${uid} (` },
    { path: join(folder, 'x'.repeat(300)), message: 'ENAMETOOLONG' }
  ]
  for (const { path, message } of cases) t.throws(() => openTable(t, path), { kind: 'unusable', message })
  for (const path of [undefined, '', 12, null, ':memory:', 'file:plants.db']) {
    t.throws(() => sqlitePlantStore({ path: path as string }), {
      name: 'TypeError', message: /option path .* memoryPlantStore\(\)$/
    })
  }
  const inJavaScript: (options?: unknown) => unknown = sqlitePlantStore as (options: unknown) => unknown
  for (const options of [undefined, null, 'plants.db']) {
    t.throws(() => inJavaScript(options), { name: 'TypeError', message: /option path .* memoryPlantStore\(\)$/ })
  }
})

t.test('a backup that was copied over the file beside the old one\'s log is not opened, and not changed', async t => {
  const folder = t.testdir({ 'link.db': t.fixture('symlink', 'plants.db') })
  const path = join(folder, 'plants.db')
  makeWithLog(path, 3_000)
  const content = `${TABLE}); INSERT INTO plants VALUES (2, 'Fern', 'green'); PRAGMA user_version = 1`
  execute(join(folder, 'backup.db'), content)
  const backup = readFileSync(join(folder, 'backup.db'))
  const message = /(\S+plants\.db-wal) is the log of another database than .*: move \1 and its -shm away/
  for (const content of [backup, Buffer.alloc(0)]) {
    writeFileSync(path, content)
    for (const at of [path, join(folder, 'link.db')]) {
      t.throws(() => openTable(t, at), { kind: 'unusable', message })
      await t.rejects(openPlantsFile(at), { message })
    }
    t.ok(readFileSync(path).equals(content))
  }
  const { PATH } = process.env
  process.env.PATH = ''
  // Not even where no program reads the header.
  t.throws(() => openTable(t, path), { kind: 'unusable', message })
  process.env.PATH = PATH
  rmSync(path)
  t.throws(() => openTable(t, path), { kind: 'unusable', message }, 'nor is a log without a file emptied')

  writeFileSync(path, backup)
  for (const suffix of ['-wal', '-shm']) renameSync(`${path}${suffix}`, `${path}${suffix}.old`)
  t.strictSame(openTable(t, path).write([FERN]), ['same'])
})

const replacements: { what: string, found: bigint[] }[] = [
  { what: 'deleted', found: [] },
  { what: 'moved away', found: [] },
  { what: 'replaced by a backup', found: [1n] },
  { what: 'replaced by a live file', found: [1n, 2n, 3n] }
]

for (const { what, found } of replacements) {
  t.test(`a file that is ${what} while open takes no plant until a restart, and the new one is unharmed`, async t => {
    const path = join(t.testdir(), 'plants.db')
    const table = new PlantsTable(DatabaseSync, path)
    t.strictSame(table.write([FICUS]), ['stored'])
    execute(path, `VACUUM INTO '${path}.new'`)
    t.strictSame(table.write([FERN]), ['stored'])
    if (what === 'deleted') rmSync(path)
    else renameSync(path, `${path}.old`)
    if (what === 'replaced by a backup') renameSync(`${path}.new`, path)
    if (what === 'replaced by a live file') {
      makeWithLog(`${path}.live-file`, 3)
      for (const suffix of ['-wal', '-shm', '']) renameSync(`${path}.live-file${suffix}`, `${path}${suffix}`)
    }
    const message = /plants\.db was deleted, moved or replaced while it was open: .* restart$/
    t.match(table.write([MOSS]), { kind: 'unknown', message })
    t.match(table.write([MOSS]), { kind: 'refused', message })
    t.match(table.check(false), { message })
    t.equal(existsSync(path), what.startsWith('replaced'), 'no file is created')
    table.close()
    if (what !== 'deleted') {
      t.strictSame([...plantsInFile(`${path}.old`).keys()], [1n, 2n, 3n], 'the old file is complete without its log')
    }
    openTable(t, path)
    t.strictSame(first(path, 'PRAGMA integrity_check'), 'ok')
    t.strictSame([...plantsInFile(path).keys()], found)
  })
}

t.test('a file that is replaced while its thread dies is not opened by the next thread', async t => {
  const path = join(t.testdir(), 'plants.db')
  const { threads, kill } = threadsOf(t)
  const store = storeAt(t, path)
  const create = () => store.create({ id: 1n, name: 'Ficus' }, performance.now() + 10_000)
  t.equal(await create(), 'stored')
  execute(path, `VACUUM INTO '${path}.new'`)
  renameSync(`${path}.new`, path)
  kill()
  // Else this process would end: an idle thread does not keep it alive.
  threads[0]?.ref()
  await new Promise(resolve => threads[0]?.once('exit', resolve))
  await t.rejects(create(), {
    name: 'PlantNotStored', permanent: true, message: /^SQLite: .* was deleted, moved or replaced/
  })
  await t.rejects(store.ready(), { message: /was deleted, moved or replaced/ })
})

t.test('on a file system that is read-only, the message says so', withSmallDisk, async t => {
  const folder = testFolder(t)
  mountSmallDisk(t, folder, '1m')('1m,ro')
  const message = /\/plants\.db cannot be opened for writing by this user, uid \d+ \(.*the mount options/
  t.throws(() => openTable(t, join(folder, 'plants.db')), { kind: 'unusable', message })
})

t.test('a file that is mounted without its folder is refused, since its log would be lost', withSmallDisk, async t => {
  const folder = testFolder(t)
  for (const name of ['disk', 'data']) mkdirSync(join(folder, name))
  mountSmallDisk(t, join(folder, 'disk'), '1m')
  const path = join(folder, 'data', 'plants.db')
  for (const file of [join(folder, 'disk', 'plants.db'), path]) writeFileSync(file, '')
  mountFile(t, join(folder, 'disk', 'plants.db'), path)
  // In an empty file, and in one with the table.
  const message = /plants\.db is mounted without its folder, .*: mount the folder$/
  for (let turn = 0; turn < 2; turn++) await t.rejects(storeAt(t, path).open(), { name: 'StoreUnusable', message })
  symlinkSync(join(folder, 'disk', 'plants.db'), join(folder, 'link.db'))
  t.equal(await storeAt(t, join(folder, 'link.db')).open(), true, 'a link to another disk is not')
})

t.test('the log shrinks to 32 MiB once the reader that kept it from being emptied has ended', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  table.write([FICUS])
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
