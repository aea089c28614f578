import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { PlantsTable } from '../../../src/stores/sqlite/plants-table.js'
import { DatabaseSync, execute, plantsInFile } from '../../support/stores/sqlite-file.js'

const TABLE = 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)'

/** Checks that a file is refused, and is not changed; returns the reason. */
function refusal (t: Test, path: string, message: RegExp): string {
  const before = readFileSync(path)
  const error = t.throws(() => new PlantsTable(DatabaseSync, path), { kind: 'unusable', message })
  t.ok(readFileSync(path).equals(before), 'the file is unchanged')
  t.notOk(existsSync(`${path}-wal`), 'no file is created beside it')
  return (error as Error).message
}

t.test('any other change to the table is named, and the SQL in the message undoes it without losing a plant', async t => {
  const changes: { columns: string, options?: string, more?: string, message: RegExp }[] = [
    { columns: 'id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT, height REAL NOT NULL', message: /the column height is REAL NOT NULL without a default, .*: ALTER TABLE plants DROP COLUMN "height"$/ },
    { columns: 'id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT, height REAL NOT NULL DEFAULT NULL', message: /the column height is REAL NOT NULL without a default/ },
    { columns: 'id INTEGER, name TEXT NOT NULL, tag TEXT', message: /the column id is INTEGER, but must be INTEGER PRIMARY KEY/ },
    { columns: 'id TEXT PRIMARY KEY, name TEXT NOT NULL, tag TEXT', message: /the column id is TEXT PRIMARY KEY, but must be INTEGER PRIMARY KEY/ },
    { columns: 'id INTEGER, name TEXT NOT NULL, tag TEXT, place TEXT, PRIMARY KEY(id, place)', message: /the column place is part of the primary key/ },
    { columns: 'id INTEGER PRIMARY KEY, name TEXT, tag TEXT', message: /the column name is TEXT, but must be TEXT NOT NULL/ },
    { columns: 'id INTEGER PRIMARY KEY, name VARCHAR(80) NOT NULL, tag ANY NOT NULL DEFAULT 1', message: /name is VARCHAR\(80\) NOT NULL, but must be TEXT NOT NULL, and the column tag is ANY NOT NULL, but must be TEXT\./ },
    { columns: 'id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT AS (upper(name))', message: /the column tag is TEXT GENERATED, but must be TEXT/ },
    { columns: 'id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT', options: 'WITHOUT ROWID', message: /the table plants is WITHOUT ROWID/ },
    { columns: 'id INTEGER PRIMARY KEY, name TEXT NOT NULL', message: /no column tag, which must be TEXT.*: ALTER TABLE plants ADD COLUMN tag TEXT$/ },
    { columns: 'id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT, x', more: 'ALTER TABLE plants RENAME COLUMN name TO title', message: /no column name, .*: ALTER TABLE plants RENAME COLUMN "title" TO name$/ },
    { columns: 'id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT', more: 'ALTER TABLE plants RENAME TO "old ones"', message: /no table plants, but a table old ones with its columns: .*: ALTER TABLE "old ones" RENAME TO plants$/ }
  ]
  const folder = t.testdir()
  for (const [index, { columns, options = '', more = '', message }] of changes.entries()) {
    const path = join(folder, `${index}.db`)
    // SQLite adds no column that needs a value to a table with rows, and so drops none from it.
    const plant = columns.includes('REAL') ? '' : "INSERT INTO plants(id, name) VALUES (1, 'Ficus')"
    execute(path, `CREATE TABLE plants(${columns}) ${options}; PRAGMA user_version = 1; ${plant}; ${more}`)
    const reason = refusal(t, path, message)
    t.notMatch(reason, /another (program|folder)/)
    execute(path, reason.slice(reason.lastIndexOf(': ') + 2))
    const table = new PlantsTable(DatabaseSync, path)
    t.match(table.write([[1n, 'Ficus', null]]), [/^(same|taken|stored)$/], columns)
    table.close()
    t.equal(plantsInFile(path).get(1n)?.name, 'Ficus')
  }
})

t.test('a file whose table is missing or cannot be undone by SQL is refused with what to do', async t => {
  const folder = t.testdir()
  const files: { make: string, message: RegExp }[] = [
    { make: `${TABLE}; PRAGMA user_version = 1; ALTER TABLE plants RENAME TO p; CREATE VIEW plants AS SELECT * FROM p`, message: /plants is a view, but must be a table/ },
    { make: 'CREATE TABLE songs(title TEXT); PRAGMA user_version = 1', message: /has no table plants: if it was dropped, restore a backup; / },
    { make: 'CREATE TABLE plants(id INTEGER PRIMARY KEY, tag TEXT); PRAGMA user_version = 1', message: /no column name, .* each name is gone: restore a backup$/ },
    { make: `PRAGMA encoding = 'UTF-16le'; ${TABLE}`, message: /is in UTF-16le, but must be in UTF-8: make a new file by "sqlite3 \S+ \.dump \| sqlite3 new\.db"/ }
  ]
  for (const [index, { make, message }] of files.entries()) {
    const path = join(folder, `${index}.db`)
    execute(path, make)
    refusal(t, path, message)
  }
})

t.test('a file of another program or a newer version is refused with a remedy, and is not changed', async t => {
  const folder = t.testdir({ 'note.db': 'Dear diary, this is not a database, and it is too long to be taken for an empty one.\n'.repeat(20) })
  refusal(t, join(folder, 'note.db'), /note\.db is damaged, or is not an SQLite database/)
  const files: { make: string, message: RegExp }[] = [
    { make: 'CREATE TABLE songs(title TEXT)', message: /\d\.db is an SQLite database of another program: choose another folder$/ },
    { make: 'CREATE TABLE plants(id TEXT, name TEXT)', message: /another program: choose another folder$/ },
    { make: `${TABLE}; PRAGMA user_version = 2`, message: /\d\.db has format 2, made by a newer plant-store; this one reads format 1: use the newer version$/ },
    { make: 'PRAGMA user_version = 99', message: /has format 99/ }
  ]
  for (const [index, { make, message }] of files.entries()) {
    const path = join(folder, `${index}.db`)
    execute(path, make)
    refusal(t, path, message)
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
    refusal(t, path, /plants\.db is damaged/)
  }
})
