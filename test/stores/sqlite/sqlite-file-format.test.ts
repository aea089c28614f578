import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { StoreUnusable, type NewPlant, type PlantStore } from '../../../src/plant-store.js'
import { sqlitePlantStore } from '../../../src/stores/sqlite/sqlite-plant-store.js'
import { execute, openSqlite, plantsInFile, storeAt } from '../../support/stores/sqlite-file.js'

const TABLE = 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)'

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
  t.strictSame(await outcomes(store, [{ id: 1n, name: 'Ficus', tag: 'tree' }, { id: -5n, name: 'Fern' }]), ['stored', 'stored'])
  t.equal(first(path, "SELECT sql FROM sqlite_schema WHERE name = 'plants'"), TABLE)
  t.equal(first(path, 'PRAGMA user_version'), 1)
  t.equal(first(path, 'PRAGMA journal_mode'), 'wal')
  t.strictSame(plantsInFile(path), new Map<bigint, object>([[-5n, { name: 'Fern' }], [1n, { name: 'Ficus', tag: 'tree' }]]))
})

t.test('an empty file is accepted, and so is a table that another tool restored, without the format version', async t => {
  const folder = t.testdir({ 'empty.db': '' })
  t.strictSame(await outcomes(await openStore(t, join(folder, 'empty.db')), [{ id: 1n, name: 'Ficus' }]), ['stored'])

  const restored = join(folder, 'restored.db')
  execute(restored, `PRAGMA foreign_keys = OFF; BEGIN TRANSACTION; ${TABLE}; INSERT INTO plants VALUES(1, 'Ficus', NULL); COMMIT`)
  const store = await openStore(t, restored)
  t.strictSame(await outcomes(store, [{ id: 1n, name: 'Ficus' }, { id: 2n, name: 'Fern' }]), ['same', 'stored'])
  t.equal(first(restored, 'PRAGMA user_version'), 1)
})

t.test('an existing plant is unchanged, and the others are stored, even if the table has a conflict clause of its own', async t => {
  for (const clause of ['REPLACE', 'IGNORE', 'ROLLBACK', 'FAIL']) {
    const path = join(t.testdir(), `${clause}.db`)
    execute(path, `CREATE TABLE plants(id INTEGER PRIMARY KEY ON CONFLICT ${clause}, name TEXT NOT NULL, tag TEXT)`)
    const store = await openStore(t, path)
    t.strictSame(await outcomes(store, [{ id: 1n, name: 'Ficus' }]), ['stored'])
    const plants = [{ id: 2n, name: 'Fern' }, { id: 1n, name: 'Moss' }, { id: 1n, name: 'Ficus' }, { id: 3n, name: 'Moss' }]
    t.strictSame(await outcomes(store, plants), ['stored', 'taken', 'same', 'stored'], clause)
    t.strictSame([...plantsInFile(path).values()], [{ name: 'Ficus' }, { name: 'Fern' }, { name: 'Moss' }], clause)
  }
})

t.test('a plant that a trigger ignores is not reported as stored; a trigger that changes other rows affects no outcome', async t => {
  const path = join(t.testdir(), 'plants.db')
  const store = await openStore(t, path)
  t.strictSame(await outcomes(store, [{ id: 1n, name: 'Ficus' }]), ['stored'])
  execute(path, `CREATE TABLE log(id);
    CREATE TRIGGER logged AFTER INSERT ON plants BEGIN INSERT INTO log VALUES (new.id); END;
    CREATE TRIGGER ignored BEFORE INSERT ON plants WHEN new.name = 'Moss' BEGIN INSERT INTO log VALUES (new.id); SELECT RAISE(IGNORE); END`)
  const plants = [{ id: 2n, name: 'Fern' }, { id: 3n, name: 'Moss' }, { id: 1n, name: 'Ficus' }, { id: 4n, name: 'Fern' }]
  t.strictSame(await outcomes(store, plants), ['stored', 'taken', 'same', 'stored'])
  t.strictSame(await outcomes(store, [{ id: 5n, name: 'Moss' }]), ['taken'])
  t.strictSame([...plantsInFile(path).keys()], [1n, 2n, 4n])
})

t.test('plants that differ in case or trailing spaces are different, even if the columns\' collation ignores that', async t => {
  const path = join(t.testdir(), 'plants.db')
  execute(path, 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, tag TEXT COLLATE RTRIM)')
  const store = await openStore(t, path)
  const variants = [['Ficus', 'tree'], ['Ficus', 'tree'], ['ficus', 'tree'], ['Ficus', 'tree ']] as const
  t.strictSame(await outcomes(store, variants.map(([name, tag]) => ({ id: 1n, name, tag }))), ['stored', 'same', 'taken', 'taken'])
})

async function refused (t: Test, path: string, message: RegExp): Promise<void> {
  const before = readFileSync(path)
  const store = storeAt(t, path)
  await t.rejects(store.open(), { name: StoreUnusable.name, message })
  await t.rejects(store.create({ id: 1n, name: 'Ficus' }, performance.now() + 10_000), { permanent: true, message })
  await store.close()
  t.ok(readFileSync(path).equals(before), 'the file is unchanged')
  t.notOk(existsSync(`${path}-wal`), 'no file is created beside it')
}

t.test('a file of another program or a newer version is refused with a remedy, and is not changed', async t => {
  const folder = t.testdir({ 'note.db': 'Dear diary, this is not a database, and it is too long to be taken for an empty one.\n'.repeat(20) })
  await refused(t, join(folder, 'note.db'), /note\.db is damaged, or is not an SQLite database/)
  const files: Record<string, [make: string, message: RegExp]> = {
    'other.db': ['CREATE TABLE songs(title TEXT)', /other\.db is an SQLite database of another program: choose another folder$/],
    'plants-of-another.db': ['CREATE TABLE plants(id TEXT, name TEXT)', /another program/],
    'wider.db': ['CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT, height REAL)', /another program/],
    'utf-16.db': [`PRAGMA encoding = 'UTF-16le'; ${TABLE}`, /another program/],
    'newer.db': [`${TABLE}; PRAGMA user_version = 2`, /newer\.db has format 2, made by a newer plant-store; this one reads format 1: use the newer version$/],
    'newer-and-empty.db': ['PRAGMA user_version = 99', /has format 99/]
  }
  for (const [name, [make, message]] of Object.entries(files)) {
    const path = join(folder, name)
    execute(path, make)
    await refused(t, path, message)
  }
})

t.test('a damaged database is refused, and is not changed', async t => {
  const path = join(t.testdir(), 'plants.db')
  execute(path, `${TABLE}; PRAGMA user_version = 1;
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT 500) INSERT INTO plants SELECT id, 'Ficus', NULL FROM n`)
  const bytes = readFileSync(path)
  const [page, header] = [Buffer.from(bytes).fill(0xff, 100, 4096), Buffer.from(bytes).fill(0, 0, 16)]
  for (const damaged of [page, header, bytes.subarray(0, 5_000)]) {
    writeFileSync(path, damaged)
    await refused(t, path, /plants\.db is damaged/)
  }
})

t.test('a path at which no file can exist is unusable, and so is a missing one', async t => {
  const folder = t.testdir({ file: 'x' })
  mkdirSync(join(folder, 'folder.db'))
  for (const path of [join(folder, 'file', 'plants.db'), join(folder, 'folder.db')]) {
    await t.rejects(storeAt(t, path).open(), { name: StoreUnusable.name, message: `SQLite: ${path} cannot be written` })
  }
  for (const path of [undefined, '', 12, null]) {
    t.throws(() => sqlitePlantStore({ path: path as string }), new TypeError('sqlitePlantStore: the option path must be the path of the database file'))
  }
})
