import { join } from 'node:path'
import t, { type Test } from 'tap'
import { PlantsTable, type Row, type RowResult } from '../../../src/stores/sqlite/plants-table.js'
import { DatabaseSync, execute, plantsInFile } from '../../support/stores/sqlite-file.js'

function openTable (t: Test, path: string): PlantsTable {
  const table = new PlantsTable(DatabaseSync, path)
  t.teardown(() => table.close())
  return table
}

t.test('an existing plant is unchanged, and the others are stored, even if the table has a conflict clause of its own', async t => {
  for (const clause of ['REPLACE', 'IGNORE', 'ROLLBACK', 'FAIL']) {
    const path = join(t.testdir(), `${clause}.db`)
    execute(path, `CREATE TABLE plants(id INTEGER PRIMARY KEY ON CONFLICT ${clause}, name TEXT NOT NULL, tag TEXT)`)
    const table = openTable(t, path)
    t.strictSame(table.write([[1n, 'Ficus', null]]), ['stored'])
    const rows: Row[] = [[2n, 'Fern', null], [1n, 'Moss', null], [1n, 'Ficus', null], [3n, 'Moss', null]]
    t.strictSame(table.write(rows), ['stored', 'taken', 'same', 'stored'], clause)
    t.strictSame([...plantsInFile(path).values()], [{ name: 'Ficus' }, { name: 'Fern' }, { name: 'Moss' }], clause)
  }
})

t.test('a trigger that changes other rows affects no outcome, and those of its own statements keep their conflict clauses', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  const id = 2n ** 63n - 1n
  t.strictSame(table.write([[id, 'Ficus', null]]), ['stored'])
  execute(path, `CREATE TABLE names(name PRIMARY KEY); INSERT INTO names VALUES ('Fern');
    CREATE TRIGGER named AFTER INSERT ON plants BEGIN INSERT OR IGNORE INTO names VALUES (new.name); END`)
  const rows: Row[] = [[-(2n ** 63n), 'Fern', null], [id, 'Moss', null], [id, 'Ficus', null], [id - 1n, 'Fern', null]]
  t.strictSame(table.write(rows), ['stored', 'taken', 'same', 'stored'])
})

t.test('plants that differ in case or trailing spaces are different, even if the columns\' collation ignores that', async t => {
  const path = join(t.testdir(), 'plants.db')
  const columns = 'id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, tag TEXT COLLATE RTRIM'
  execute(path, `CREATE TABLE plants(${columns})`)
  const rows: Row[] = [[1n, 'Ficus', 'tree'], [1n, 'Ficus', 'tree'], [1n, 'ficus', 'tree'], [1n, 'Ficus', 'tree ']]
  t.strictSame(openTable(t, path).write(rows), ['stored', 'same', 'taken', 'taken'])
})

const TABLE = 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT'
const SECRET = 'Secret-Ficus'
const trigger = (when: string, action: string) =>
  `CREATE TRIGGER refusing ${when} INSERT ON plants WHEN NEW.name LIKE '${SECRET}%' BEGIN ${action}; END`
const raising = (what: string, when = 'BEFORE') => trigger(when, `SELECT RAISE(${what})`)

/** What someone else adds to the database, so that it refuses each plant whose name begins with SECRET. */
const refusals: { what: string, table?: string, sql?: string, reason: RegExp }[] = [
  { what: 'a unique index', sql: `INSERT INTO plants VALUES (-1, '${SECRET}', NULL); CREATE UNIQUE INDEX other ON plants(substr(name, 1, 12)) WHERE name LIKE '${SECRET}%'`, reason: /2067/ },
  { what: 'a CHECK', table: `${TABLE}, CONSTRAINT no_ficus CHECK (name NOT LIKE '${SECRET}%'))`, reason: /constraint failed \(SQLite error 275\)/ },
  { what: 'a UNIQUE that would replace other plants', table: `${TABLE} UNIQUE ON CONFLICT REPLACE)`, sql: `INSERT INTO plants VALUES (-1, 'Fern', '${SECRET}')`, reason: /2067/ },
  { what: 'a foreign key', table: `CREATE TABLE tags(tag TEXT PRIMARY KEY); ${TABLE} REFERENCES tags)`, reason: /787/ },
  { what: 'a deferred foreign key', table: `CREATE TABLE tags(tag TEXT PRIMARY KEY); ${TABLE} REFERENCES tags DEFERRABLE INITIALLY DEFERRED)`, reason: /FOREIGN KEY/ },
  { what: 'RAISE(ABORT)', sql: raising("ABORT, 'no'"), reason: /1811/ },
  { what: 'RAISE(ABORT) that quotes the plant', sql: raising("ABORT, 'no'").replace("'no'", "'no ' || NEW.name"), reason: /1811/ },
  { what: 'RAISE(FAIL)', sql: raising("FAIL, 'no'"), reason: /1811/ },
  { what: 'RAISE(FAIL) after the insert', sql: raising("FAIL, 'no'", 'AFTER'), reason: /1811/ },
  { what: 'RAISE(ROLLBACK)', sql: raising("ROLLBACK, 'no'"), reason: /1811/ },
  { what: 'RAISE(ROLLBACK) after the insert', sql: raising("ROLLBACK, 'no'", 'AFTER'), reason: /1811/ },
  { what: 'RAISE(IGNORE)', sql: raising('IGNORE'), reason: /ignores/ },
  { what: 'a trigger that fails', sql: trigger('BEFORE', "SELECT json_extract('{}', NEW.name)"), reason: /error 1\b/ },
  { what: 'a trigger whose value is too large', sql: trigger('AFTER', 'SELECT zeroblob(2000000000)'), reason: /error 18\b/ }
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
