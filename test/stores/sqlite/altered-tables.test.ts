import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { PlantsTable, type Row, type RowResult } from '../../../src/stores/sqlite/plants-table.js'
import type { Failure } from '../../../src/stores/sqlite/sqlite-error.js'
import { DatabaseSync, execute, plantsInFile, TABLE } from '../../support/stores/sqlite-file.js'
import { openTable } from './tables-and-threads.js'

t.test('a trigger that changes what else is there affects no outcome, and keeps its own conflict clauses', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  const id = 2n ** 63n - 1n
  t.strictSame(table.write([[id, 'Ficus', null]]), ['stored'])
  execute(path, `ALTER TABLE plants ADD COLUMN conflicts INT;
    CREATE TABLE names(name PRIMARY KEY); INSERT INTO names VALUES ('Fern');
    CREATE TRIGGER named AFTER INSERT ON plants BEGIN INSERT OR IGNORE INTO names VALUES (new.name); END;
    CREATE TRIGGER marked AFTER INSERT ON plants BEGIN UPDATE plants SET conflicts = 1 WHERE id = new.id; END`)
  const rows: Row[] = [[-(2n ** 63n), 'Fern', null], [id, 'Moss', null], [id, 'Ficus', null], [id - 1n, 'Fern', null]]
  t.strictSame(table.write(rows), ['stored', 'taken', 'same', 'stored'])
  t.strictSame([...plantsInFile(path).values()], [{ name: 'Fern' }, { name: 'Fern' }, { name: 'Ficus' }])
})

t.test('plants that differ in case or trailing spaces are different, whatever the columns\' collation', async t => {
  const path = join(t.testdir(), 'plants.db')
  const columns = 'id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, tag TEXT COLLATE RTRIM'
  execute(path, `CREATE TABLE plants(${columns})`)
  const rows: Row[] = [[1n, 'Ficus', 'tree'], [1n, 'Ficus', 'tree'], [1n, 'ficus', 'tree'], [1n, 'Ficus', 'tree ']]
  t.strictSame(openTable(t, path).write(rows), ['stored', 'same', 'taken', 'taken'])
})

const SECRET = 'Secret-Ficus'
const TAGS = 'CREATE TABLE tags(tag TEXT PRIMARY KEY)'
const trigger = (when: string, action: string) =>
  `CREATE TRIGGER refusing ${when} INSERT ON plants WHEN NEW.name LIKE '${SECRET}%' BEGIN ${action}; END`
const raising = (what: string, when = 'BEFORE') => trigger(when, `SELECT RAISE(${what})`)

/** What someone else adds to the database, so that it refuses each plant whose name begins with SECRET. */
const refusals: { what: string, table?: string, sql?: string, reason: RegExp }[] = [
  {
    what: 'a unique index',
    sql: `INSERT INTO plants VALUES (-1, '${SECRET}', NULL);
      CREATE UNIQUE INDEX other ON plants(substr(name, 1, 12)) WHERE name LIKE '${SECRET}%'`,
    reason: /2067/
  },
  {
    what: 'a CHECK',
    table: `${TABLE}, CONSTRAINT no_ficus CHECK (name NOT LIKE '${SECRET}%'))`,
    reason: /constraint failed \(SQLite error 275\)/
  },
  { what: 'a foreign key', table: `${TAGS}; ${TABLE} REFERENCES tags)`, reason: /787/ },
  {
    what: 'RAISE(ABORT) that quotes the plant',
    sql: raising("ABORT, 'no'").replace("'no'", "'no ' || NEW.name"),
    reason: /1811/
  },
  { what: 'RAISE(FAIL)', sql: raising("FAIL, 'no'"), reason: /1811/ },
  { what: 'RAISE(IGNORE)', sql: raising('IGNORE'), reason: /ignores/ },
  { what: 'a trigger that fails', sql: trigger('BEFORE', "SELECT json_extract('{}', NEW.name)"), reason: /error 1\b/ },
  { what: 'a trigger with a huge value', sql: trigger('AFTER', 'SELECT zeroblob(2000000000)'), reason: /error 18\b/ }
]

for (const { what, table: declaration = `${TABLE})`, sql = '', reason } of refusals) {
  t.test(`${what} refuses a plant, and those beside it are stored`, async t => {
    const path = join(t.testdir(), 'plants.db')
    execute(path, `${declaration}; ${sql}`)
    const before = plantsInFile(path)
    const table = openTable(t, path)
    const rows = Array.from({ length: 100 }, (_, i): Row =>
      i % 40 < 3 ? [BigInt(i), `${SECRET} ${i}`, SECRET] : [BigInt(i), `plant ${i}`, null])
    const results = table.write(rows) as readonly RowResult[]
    const isRefused = ([, name]: Row) => name.startsWith(SECRET)
    t.match(results, rows.map(row => isRefused(row) ? { kind: 'refused', message: reason } : 'stored'))
    t.notMatch(JSON.stringify(results), SECRET)
    const stored = plantsInFile(path)
    t.strictSame(rows.filter(([id]) => stored.has(id)), rows.filter(row => !isRefused(row)))
    for (const [id, plant] of before) t.strictSame(stored.get(id), plant, 'what was there stays')
    t.equal(table.check(true), 'writable')
  })
}

/** What ends the transaction, so that it refuses each batch with a plant whose name is SECRET. */
const endings: { what: string, table?: string, sql?: string, reason: RegExp }[] = [
  { what: 'RAISE(ROLLBACK)', sql: raising("ROLLBACK, 'no'"), reason: /1811\), and ends the transaction/ },
  { what: 'RAISE(ROLLBACK) after the insert', sql: raising("ROLLBACK, 'no'", 'AFTER'), reason: /1811\), and ends/ },
  {
    what: 'a deferred foreign key',
    table: `${TAGS}; ${TABLE} REFERENCES tags DEFERRABLE INITIALLY DEFERRED)`,
    reason: /FOREIGN KEY/
  }
]

for (const { what, table: declaration = `${TABLE})`, sql = '', reason } of endings) {
  t.test(`${what} refuses all plants of its batch, and no other`, async t => {
    const path = join(t.testdir(), 'plants.db')
    execute(path, `${declaration}; ${sql}`)
    const table = openTable(t, path)
    const rows: Row[] = [[1n, 'Ficus', null], [2n, SECRET, SECRET], [3n, 'Fern', null]]
    const failure = table.write(rows) as Failure
    t.match(failure, { kind: 'refused', message: reason })
    t.notMatch(failure.message, SECRET)
    t.equal(plantsInFile(path).size, 0, 'not even what came after it')
    t.strictSame(rows.map(row => [table.write([row])].flat()[0]), ['stored', failure, 'stored'])
  })
}

t.test('a plant that a trigger keeps, though it fails (RAISE(FAIL) after the insert), is stored', async t => {
  const path = join(t.testdir(), 'plants.db')
  execute(path, `${TABLE}); ${raising("FAIL, 'no'", 'AFTER')}`)
  t.strictSame(openTable(t, path).write([[1n, SECRET, null], [2n, 'Fern', null]]), ['same', 'stored'])
  t.strictSame([...plantsInFile(path).keys()], [1n, 2n])
})

/** Checks that a file is refused, and is not changed; returns the reason. */
function refusal (t: Test, path: string, message: RegExp): string {
  const before = readFileSync(path)
  const error = t.throws(() => new PlantsTable(DatabaseSync, path), { kind: 'unusable', message })
  t.ok(readFileSync(path).equals(before), 'the file is unchanged')
  t.notOk(existsSync(`${path}-wal`), 'no file is created beside it')
  return (error as Error).message
}

t.test('any other change to the table is named, and what to do', async t => {
  const [ID, NAME] = ['id INTEGER PRIMARY KEY', 'name TEXT NOT NULL']
  const changes: { columns?: string, more?: string, message: RegExp }[] = [
    {
      columns: `${ID}, ${NAME}, tag TEXT, height REAL NOT NULL DEFAULT NULL)`,
      message: /the column height must need no value, but is REAL NOT NULL/
    },
    { columns: `id INTEGER, ${NAME}, tag TEXT)`, message: /id must be INTEGER PRIMARY KEY, but is INTEGER\)/ },
    {
      columns: `id TEXT PRIMARY KEY, ${NAME}, tag TEXT)`,
      message: /the column id must be INTEGER PRIMARY KEY, but is TEXT PRIMARY KEY/
    },
    {
      columns: `id INTEGER, ${NAME}, tag TEXT, place TEXT, PRIMARY KEY(id, place))`,
      message: /the column place must need no value, but is TEXT PRIMARY KEY/
    },
    { columns: `${ID}, name TEXT, tag TEXT)`, message: /the column name must be TEXT NOT NULL, but is TEXT\)/ },
    {
      columns: `${ID}, name VARCHAR(80) NOT NULL, tag NOT NULL DEFAULT 1)`,
      message: /but is VARCHAR\(80\) NOT NULL; the column tag must be TEXT, but is untyped NOT NULL\)/
    },
    {
      columns: `${ID}, ${NAME}, tag TEXT AS (upper(name)))`,
      message: /the column tag must be TEXT, but is TEXT GENERATED/
    },
    {
      columns: `${ID}, ${NAME}, tag TEXT) WITHOUT ROWID`,
      message: /the column id must be INTEGER PRIMARY KEY, but is INTEGER PRIMARY KEY WITHOUT ROWID/
    },
    { columns: `${ID}, ${NAME})`, message: /the column tag must be TEXT, but is missing/ },
    { more: 'ALTER TABLE plants RENAME COLUMN name TO "a""b"', message: /name must be TEXT NOT NULL, but is missing/ },
    { columns: `${ID} ON CONFLICT REPLACE, ${NAME}, tag TEXT)`, message: /it must have no ON CONFLICT clause/ },
    { columns: `${ID}, ${NAME}, tag TEXT UNIQUE on conflict IGNORE)`, message: /it must have no ON CONFLICT clause/ },
    {
      more: 'ALTER TABLE plants RENAME TO p; CREATE VIEW plants AS SELECT * FROM p',
      message: /\(there is no such table\)/
    }
  ]
  const folder = t.testdir()
  for (const [index, { columns, more = '', message }] of changes.entries()) {
    const path = join(folder, `${index}.db`)
    const table = columns === undefined ? `${TABLE})` : `CREATE TABLE plants(${columns}`
    execute(path, `${table}; PRAGMA user_version = 1; ${more}`)
    const reason = refusal(t, path, message)
    t.match(reason, /^the table plants in \S+\.db was changed \(.*\): undo that, or restore a backup$/)
  }
})

t.test('a file of another program or of a newer version is refused with what to do', async t => {
  const note = 'Dear diary, this is not a database, and it is too long to be taken for an empty one.\n'.repeat(20)
  const folder = t.testdir({ 'note.db': note })
  refusal(t, join(folder, 'note.db'), /note\.db is damaged, or is not an SQLite database/)
  const files: { make: string, message: RegExp }[] = [
    {
      make: `PRAGMA encoding = 'UTF-16le'; ${TABLE})`,
      message: /is in UTF-16le, but must be in UTF-8: make a new file by "sqlite3 \S+ \.dump \| sqlite3 new\.db"/
    },
    {
      make: "PRAGMA encoding = 'UTF-16le'; CREATE TABLE other(x); DROP TABLE other",
      message: /is in UTF-16le, but must be in UTF-8/
    },
    {
      make: 'CREATE TABLE plants(id TEXT, name TEXT)',
      message: /\d\.db is an SQLite database of another program: choose another path$/
    },
    {
      make: 'PRAGMA user_version = 99',
      message: /\d\.db has format 99, made by a newer plant-store; .* reads format 1: use the newer version$/
    }
  ]
  for (const [index, { make, message }] of files.entries()) {
    const path = join(folder, `${index}.db`)
    execute(path, make)
    refusal(t, path, message)
  }
})

t.test('a damaged database is refused, and is not changed', async t => {
  const path = join(t.testdir(), 'plants.db')
  execute(path, `${TABLE}); PRAGMA user_version = 1;
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT 500)
    INSERT INTO plants SELECT id, 'Ficus', NULL FROM n`)
  const bytes = readFileSync(path)
  const [page, header] = [Buffer.from(bytes).fill(0xff, 100, 4096), Buffer.from(bytes).fill(0, 0, 16)]
  for (const damaged of [page, header, bytes.subarray(0, 5_000)]) {
    writeFileSync(path, damaged)
    refusal(t, path, /plants\.db is damaged/)
  }
})
