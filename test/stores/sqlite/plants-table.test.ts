import { once } from 'node:events'
import fs, { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { StatementSyncInstance } from '@photostructure/sqlite'
import t, { type Test } from 'tap'
import { StoreUnusable } from '../../../src/stores/plant-store.js'
import { openDatabase, type DatabaseClass } from '../../../src/stores/sqlite/database.js'
import { SqlitePlantsTable } from '../../../src/stores/sqlite/plants-table.js'
import { SqliteFailure } from '../../../src/stores/sqlite/sqlite-failure.js'
import { replaceBuiltin } from '../../support/replace-builtin.js'
import { DatabaseSync, lockSqlite, openSqlite, plantsInFile } from '../../support/stores/sqlite-file.js'

const MARKER = 'PRAGMA user_version'

const FICUS = [{ id: 1n, name: 'Ficus' }]

function openTable (t: Test, path: string, Database: DatabaseClass = DatabaseSync): SqlitePlantsTable {
  const table = SqlitePlantsTable.open(Database, path)
  t.teardown(() => table.close())
  return table
}

/** Runs SQL as another program. */
function execute (path: string, sql: string): void {
  const database = openSqlite(path)
  database.exec(sql)
  database.close()
}

function first (path: string, sql: string): unknown {
  const database = openSqlite(path)
  const row = database.prepare(sql).get() as Record<string, unknown>
  database.close()
  return Object.values(row)[0]
}

function unusable (t: Test, path: string, message: RegExp): void {
  t.throws(() => SqlitePlantsTable.open(DatabaseSync, path), { name: StoreUnusable.name, message })
}

function failure (t: Test, run: () => unknown, expected: Partial<SqliteFailure>, message: RegExp): void {
  try {
    run()
    t.fail('nothing failed')
  } catch (error) {
    t.type(error, SqliteFailure)
    t.match(error, { outcomeUnknown: false, permanent: false, reopen: false, ...expected, message })
  }
}

t.test('a new file is created with its folders and the documented table, which any SQLite tool can read', async t => {
  const path = join(t.testdir(), 'a', 'b', 'c', 'plants.db')
  const table = openTable(t, path)
  t.equal(table.write([{ id: 1n, name: 'Ficus', tag: 'tree' }, { id: -5n, name: 'Fern' }]), null, 'all are new')
  t.equal(first(path, "SELECT sql FROM sqlite_schema WHERE name = 'plants'"), 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)')
  t.equal(first(path, MARKER), 1)
  t.equal(first(path, 'PRAGMA journal_mode'), 'wal')
  t.strictSame(plantsInFile(path), new Map<bigint, object>([[-5n, { name: 'Fern' }], [1n, { name: 'Ficus', tag: 'tree' }]]))
})

t.test('a commit is on disk before it is acknowledged: synchronous is FULL, with fullfsync for macOS', async t => {
  const binding = new FaultyBinding()
  openTable(t, join(t.testdir(), 'plants.db'), binding.Database)
  const settings = binding.executed.join('\n')
  for (const setting of ['synchronous = FULL', 'fullfsync = ON', 'checkpoint_fullfsync = ON']) t.match(settings, `PRAGMA ${setting}`)
})

t.test('the entries of new folders are synced to disk', async t => {
  const folder = t.testdir()
  const path = join(folder, 'a', 'b', 'plants.db')
  const opened = new Map<number, unknown>()
  const synced: unknown[] = []
  const { openSync, fsyncSync, closeSync } = fs
  replaceBuiltin(t, fs, 'openSync', (path, flags) => {
    const descriptor = openSync(path, flags)
    opened.set(descriptor, path)
    return descriptor
  })
  replaceBuiltin(t, fs, 'fsyncSync', descriptor => {
    synced.push(opened.get(descriptor))
    fsyncSync(descriptor)
  })
  replaceBuiltin(t, fs, 'closeSync', descriptor => {
    opened.delete(descriptor)
    closeSync(descriptor)
  })
  openDatabase(DatabaseSync, path).close()
  t.strictSame(new Set(synced), new Set([folder, dirname(dirname(path))]))
  t.equal(opened.size, 0, 'no folder stays open')
  synced.length = 0
  openDatabase(DatabaseSync, path).close()
  t.strictSame(synced, [], 'existing folders are not synced')
})

t.test('new folders are also created on Windows, where a folder cannot be opened', async t => {
  const path = join(t.testdir(), 'a', 'b', 'plants.db')
  t.intercept(process, 'platform', { value: 'win32' })
  replaceBuiltin(t, fs, 'openSync', () => { throw new Error('EISDIR') })
  openDatabase(DatabaseSync, path).close()
  t.ok(existsSync(path))
})

t.test('the log grows to its full size once, without adding anything to the database', async t => {
  const path = join(t.testdir(), 'plants.db')
  const binding = new FaultyBinding()
  const table = openTable(t, path, binding.Database)
  table.write(FICUS)
  table.growLog()
  t.equal(statSync(`${path}-wal`).size >> 20, 15)
  t.equal(binding.executed.at(-1), 'PRAGMA cache_size = -16384', 'the cache size is reset')
  t.equal(first(path, 'SELECT count(*) FROM sqlite_schema'), 1)
  t.equal(table.write([{ id: 2n, name: 'Fern' }]), null)
  const executed = binding.executed.length
  table.growLog()
  t.equal(binding.executed.length, executed, 'the log does not grow twice')
})

t.test('the log is not grown unless a gibibyte is free', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  let bavail = 2 ** 18 - 1
  replaceBuiltin(t, fs, 'statfsSync', (() => ({ bavail, bsize: 4096 })) as unknown as typeof fs.statfsSync)
  table.growLog()
  t.ok(statSync(`${path}-wal`).size < 100_000)
  bavail++
  table.growLog()
  t.ok(statSync(`${path}-wal`).size > 16_000_000)
})

t.test('a failure to grow the log does not affect the table', async t => {
  const folder = t.testdir()
  for (const failing of ['PRAGMA cache_size = 16', 'BEGIN IMMEDIATE']) {
    const path = join(folder, `${failing}.db`)
    const binding = new FaultyBinding()
    const table = openTable(t, path, binding.Database)
    binding.failing = [failing]
    table.growLog()
    binding.failing = []
    t.equal(binding.executed.at(-1), 'PRAGMA cache_size = -16384')
    t.equal(table.write(FICUS), null)
  }
})

t.test('a file that was open before is opened with an empty log, since after a failed sync the log may not be on disk', async t => {
  const path = join(t.testdir(), 'plants.db')
  openTable(t, path).write([{ id: 1n, name: 'x'.repeat(1_000_000) }])
  const table = SqlitePlantsTable.open(DatabaseSync, path)
  t.ok(statSync(`${path}-wal`).size > 1_000_000)
  table.close()
  SqlitePlantsTable.open(DatabaseSync, path, { wasOpen: true }).close()
  t.ok(statSync(`${path}-wal`).size < 100_000)
})

t.test('a file that was open before is not opened while another program keeps its log from being emptied', async t => {
  const path = join(t.testdir(), 'plants.db')
  openTable(t, path).write(FICUS)
  const reader = openSqlite(path)
  reader.exec('BEGIN; SELECT * FROM plants')
  const reopen = () => SqlitePlantsTable.open(DatabaseSync, path, { wasOpen: true, lockWaitMs: 0 })
  failure(t, reopen, {}, /^another program is reading the log of .*plants\.db, which must be emptied: stop that program$/)
  reader.close()
  t.equal(reopen().close(), undefined)
})

t.test('plants are also stored on a file system that supports no write-ahead log', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path, class extends DatabaseSync {
    override exec (sql: string): void {
      super.exec(sql.replace('journal_mode = WAL', 'journal_mode = DELETE'))
    }
  })
  t.equal(table.write(FICUS), null)
  t.notOk(existsSync(`${path}-wal`))
  t.strictSame([...table.write(FICUS) as Uint8Array], [1])
})

t.test('only a thorough check writes to the database', async t => {
  const binding = new FaultyBinding()
  const table = openTable(t, join(t.testdir(), 'plants.db'), binding.Database)
  const executed = binding.executed.length
  table.check(false)
  t.equal(binding.executed.length, executed)
  table.check(true)
  t.strictSame(binding.executed.slice(executed), ['PRAGMA user_version = 1'])
})

t.test('an id that is not exact as a number is stored although Node refuses to return it as one', async t => {
  class Strict extends DatabaseSync {
    override prepare (sql: string): StatementSyncInstance {
      const statement = super.prepare(sql)
      const { run } = statement
      // As since Node 26.8.
      return Object.defineProperty(statement, 'run', {
        value: (...values: unknown[]) => {
          const { changes, lastInsertRowid } = run.apply(statement, values)
          if (typeof changes === 'number' && Math.abs(Number(lastInsertRowid)) > Number.MAX_SAFE_INTEGER) throw new RangeError('not exact')
          return { changes, lastInsertRowid }
        }
      })
    }
  }
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path, Strict)
  const plants = [{ id: 2n ** 63n - 1n, name: 'Ficus' }, { id: -(2n ** 63n), name: 'Fern' }]
  t.equal(table.write(plants), null)
  t.strictSame(table.write(plants), Uint8Array.of(1, 1))
  t.strictSame([...plantsInFile(path).keys()].sort(), [-(2n ** 63n), 2n ** 63n - 1n])
})

t.test('an existing plant is unchanged, and the others are stored, even if the table has a conflict clause of its own', async t => {
  for (const clause of ['REPLACE', 'IGNORE', 'ROLLBACK', 'FAIL']) {
    const path = join(t.testdir(), 'plants.db')
    execute(path, `CREATE TABLE plants(id INTEGER PRIMARY KEY ON CONFLICT ${clause}, name TEXT NOT NULL, tag TEXT)`)
    const table = SqlitePlantsTable.open(DatabaseSync, path)
    t.equal(table.write(FICUS), null)
    const outcomes = table.write([{ id: 2n, name: 'Fern' }, { id: 1n, name: 'Moss' }, { id: 1n, name: 'Ficus' }, { id: 3n, name: 'Moss' }])
    t.strictSame(outcomes, Uint8Array.of(0, 2, 1, 0), clause)
    t.strictSame([...plantsInFile(path).values()], [{ name: 'Ficus' }, { name: 'Fern' }, { name: 'Moss' }], clause)
    table.close()
  }
})

t.test('a plant that a trigger ignores is not reported as stored; a trigger that changes other rows affects no outcome', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  t.equal(table.write(FICUS), null)
  execute(path, `CREATE TABLE log(id);
    CREATE TRIGGER logged AFTER INSERT ON plants BEGIN INSERT INTO log VALUES (new.id); END;
    CREATE TRIGGER ignored BEFORE INSERT ON plants WHEN new.name = 'Moss' BEGIN INSERT INTO log VALUES (new.id); SELECT RAISE(IGNORE); END`)
  const outcomes = table.write([{ id: 2n, name: 'Fern' }, { id: 3n, name: 'Moss' }, { id: 1n, name: 'Ficus' }, { id: 4n, name: 'Fern' }])
  t.strictSame(outcomes, Uint8Array.of(0, 2, 1, 0))
  t.strictSame(table.write([{ id: 5n, name: 'Moss' }]), Uint8Array.of(2))
  t.strictSame([...plantsInFile(path).keys()], [1n, 2n, 4n])
})

t.test('plants that differ in case or trailing spaces are different, even if the columns\' collation ignores that', async t => {
  const path = join(t.testdir(), 'plants.db')
  execute(path, 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, tag TEXT COLLATE RTRIM)')
  const outcomes = openTable(t, path).write([{ id: 1n, name: 'Ficus', tag: 'tree' }, { id: 1n, name: 'Ficus', tag: 'tree' }, { id: 1n, name: 'ficus', tag: 'tree' }, { id: 1n, name: 'Ficus', tag: 'tree ' }])
  t.strictSame([...outcomes as Uint8Array], [0, 1, 2, 2])
})

t.test('an empty file and a plants table without the format version are accepted', async t => {
  const folder = t.testdir({ 'empty.db': '' })
  t.equal(openTable(t, join(folder, 'empty.db')).write(FICUS), null)

  const restored = join(folder, 'restored.db')
  execute(restored, "CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT); INSERT INTO plants VALUES (1, 'Ficus', NULL)")
  t.strictSame([...openTable(t, restored).write(FICUS) as Uint8Array], [1])
  t.equal(first(restored, MARKER), 1)
})

t.test('other files are refused with a remedy, and are not changed', async t => {
  const folder = t.testdir({ 'note.db': 'Dear diary, this is not a database, and it is too long to be taken for an empty one.\n'.repeat(20) })
  const refused: Record<string, { make?: string, message: RegExp }> = {
    'other.db': { make: 'CREATE TABLE songs(title TEXT)', message: /other\.db is an SQLite database of another program: choose another folder$/ },
    'plants-of-another.db': { make: 'CREATE TABLE plants(id TEXT, name TEXT)', message: /another program/ },
    'wider.db': { make: 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT, height REAL)', message: /another program/ },
    'newer.db': {
      make: 'CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT); PRAGMA user_version = 2',
      message: /newer\.db has format 2, made by a newer plant-store; this one reads format 1: use the newer version$/
    },
    'utf-16.db': {
      make: "PRAGMA encoding = 'UTF-16le'; CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)",
      message: /utf-16\.db has its text in UTF-16le, not in UTF-8: choose another folder$/
    },
    'newer-and-empty.db': { make: 'PRAGMA user_version = 99', message: /has format 99/ },
    'note.db': { message: /note\.db is damaged, or is not an SQLite database/ }
  }
  for (const [name, { make, message }] of Object.entries(refused)) {
    await t.test(name, async t => {
      const path = join(folder, name)
      if (make !== undefined) execute(path, make)
      const before = readFileSync(path)
      unusable(t, path, message)
      t.ok(readFileSync(path).equals(before), 'the file is unchanged')
      t.notOk(existsSync(`${path}-wal`), 'no file is created beside it')
    })
  }
})

t.test('a damaged database is refused, and is not changed', async t => {
  const path = join(t.testdir(), 'plants.db')
  execute(path, `CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT); PRAGMA user_version = 1;
    WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT 500) INSERT INTO plants SELECT id, 'Ficus', NULL FROM n`)
  const bytes = readFileSync(path)
  const [page, header] = [Buffer.from(bytes).fill(0xff, 100, 4096), Buffer.from(bytes).fill(0, 0, 16)]
  for (const damaged of [page, header, bytes.subarray(0, 5_000)]) {
    writeFileSync(path, damaged)
    unusable(t, path, /plants\.db is damaged/)
    t.ok(readFileSync(path).equals(damaged), 'the file is unchanged')
  }
})

t.test('a path at which no file can exist is unusable', async t => {
  const folder = t.testdir({ file: 'x' })
  mkdirSync(join(folder, 'folder.db'))
  unusable(t, join(folder, 'file', 'plants.db'), /file/)
  unusable(t, join(folder, 'folder.db'), /folder\.db cannot be written/)
})

t.test('a fault that retrying cannot fix makes the file unusable; any other fault while opening is temporary', async t => {
  const path = join(t.testdir(), 'plants.db')
  const opening = (error: Error): unknown => {
    const Database = class { constructor () { throw error } } as unknown as DatabaseClass
    try {
      return openDatabase(Database, path)
    } catch (error) {
      return error
    }
  }
  for (const errcode of [3, 8, 8 | 1 << 8, 11, 14, 26]) {
    t.type(opening(Object.assign(new Error('a fault'), { errcode })), StoreUnusable, `SQLite's ${errcode}`)
  }
  for (const code of ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST']) {
    t.type(opening(Object.assign(new Error('a fault'), { code })), StoreUnusable, code)
  }
  for (const more of [{ errcode: 5 }, { errcode: 10 }, { errcode: 13 }, { code: 'ENOSPC' }, { code: 'EMFILE' }, { code: 'EIO' }, {}]) {
    const error = Object.assign(new Error('a fault'), more)
    t.equal(opening(error), error, JSON.stringify(more))
  }
})

t.test('a file that is replaced during the opening is reported, and closed', async t => {
  const path = join(t.testdir(), 'plants.db')
  openDatabase(DatabaseSync, path).close()
  execute(path, `VACUUM INTO '${path}.backup'`)
  const connections: { isOpen: boolean }[] = []
  class SlowDatabase extends DatabaseSync {
    override exec (sql: string): void {
      super.exec(sql)
      if (sql.endsWith('COMMIT')) renameSync(`${path}.backup`, path)
      connections.push(this)
    }
  }
  failure(t, () => SqlitePlantsTable.open(SlowDatabase, path), { reopen: true }, /plants\.db was replaced while it was open/)
  t.strictSame(connections.filter(({ isOpen }) => isOpen), [])
})

/** Makes another thread hold the lock of a file for the next 300 ms. */
async function lockFor300Ms (t: Test, path: string): Promise<void> {
  const worker = new Worker(`
    const { workerData: { binding, path }, parentPort } = require('node:worker_threads')
    import(binding).then(async ({ sqliteBinding }) => {
      const { DatabaseSync } = await sqliteBinding()
      const database = new DatabaseSync(path)
      database.exec('BEGIN IMMEDIATE')
      parentPort.postMessage('locked')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
      database.exec('ROLLBACK')
      database.close()
    })`, { eval: true, workerData: { binding: new URL('../../../src/stores/sqlite/database.js', import.meta.url).href, path } })
  const exit = once(worker, 'exit')
  t.teardown(() => exit)
  await once(worker, 'message')
}

t.test('opening and writing wait for another program\'s lock', async t => {
  const path = join(t.testdir(), 'plants.db')
  openTable(t, path)
  await lockFor300Ms(t, path)
  const table = SqlitePlantsTable.open(DatabaseSync, path, { lockWaitMs: 60_000 })
  t.teardown(() => table.close())
  await lockFor300Ms(t, path)
  t.equal(table.write(FICUS, 60_000), null)
})

t.test('a write without time to wait for a lock fails immediately, even if opening may wait longer', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = SqlitePlantsTable.open(DatabaseSync, path, { lockWaitMs: 10_000 })
  t.teardown(() => table.close())
  const other = lockSqlite(path)
  const began = performance.now()
  failure(t, () => table.write(FICUS, 0), {}, /locked/)
  t.ok(performance.now() - began < 5_000)
  other.close()
})

t.test('the pauses between attempts to take a lock grow from 0.5 to 20 ms, with random variation', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  const other = lockSqlite(path)
  const pausesWith = (random: number): number[] => {
    const pauses: number[] = []
    let now = 0
    const restore = [
      t.intercept(performance, 'now', { value: () => now }).restore,
      t.intercept(Math, 'random', { value: () => random }).restore,
      t.intercept(Atomics, 'wait', {
        value: (...[, , , ms = 0]: Parameters<typeof Atomics.wait>) => {
          now += ms
          if (pauses.push(ms) > 10_000) throw new Error('they do not grow')
        }
      }).restore
    ]
    try {
      table.write(FICUS, 1_000)
    } catch {
      // It is locked.
    } finally {
      for (const undo of restore) undo()
    }
    t.ok(now >= 1_000 && now < 1_030, 'until the time is over')
    return pauses
  }
  for (const [random, factor] of [[0, 0.5], [0.5, 1]] as const) {
    const pauses = pausesWith(random)
    t.equal(pauses[0], 0.5 * factor)
    t.equal(pauses.at(-1), 20 * factor)
    t.strictSame(pauses, [...pauses].sort((a, b) => a - b))
    t.ok(pauses.some(ms => ms > 2 * factor && ms < 5 * factor), 'some are in between')
  }
  other.close()
})

t.test('a write that fails halfway stores none of its plants', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  execute(path, "CREATE TRIGGER no_ficus BEFORE INSERT ON plants WHEN NEW.name = 'Ficus' BEGIN SELECT RAISE(ABORT, 'no ficus here'); END")
  failure(t, () => table.write([{ id: 1n, name: 'Fern' }, { id: 2n, name: 'Ficus' }]), {}, /no ficus here/)
  t.equal(plantsInFile(path).size, 0)
  t.equal(table.write([{ id: 1n, name: 'Fern' }]), null)
})

t.test('a failed commit leaves the outcome uncertain, except for a lock or a full disk', async t => {
  const lock = { outcomeUnknown: false, permanent: false, reopen: false }
  const fault = { outcomeUnknown: true, permanent: false, reopen: true }
  const codes: [errcode: number, expected: Partial<SqliteFailure>][] = [
    [5, lock], [5 | 2 << 8, lock], [13, { ...lock, permanent: true }], [10, fault], [10 | 4 << 8, fault], [NaN, fault],
    [11, { ...lock, outcomeUnknown: true }], [19, { ...lock, outcomeUnknown: true }]
  ]
  const folder = t.testdir()
  const binding = new FaultyBinding()
  for (const [errcode, expected] of codes) {
    const path = join(folder, `plants-${errcode}.db`)
    const table = openTable(t, path, binding.Database)
    binding.errcode = errcode
    binding.failing = ['COMMIT']
    failure(t, () => table.write(FICUS), expected, /^COMMIT failed$/)
    failure(t, () => table.check(true), expected, /^COMMIT failed$/)
    binding.failing = []
    t.equal(table.write(FICUS), null, 'the transaction was rolled back')
  }
})

t.test('a plant that fails for any other reason than its id ends the write', async t => {
  const path = join(t.testdir(), 'plants.db')
  const binding = new FaultyBinding()
  const table = openTable(t, path, binding.Database)
  binding.failing = ['INSERT OR ABORT INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))']
  failure(t, () => table.write(FICUS), { reopen: true }, /^INSERT OR ABORT .* failed$/)
  t.equal(plantsInFile(path).size, 0)
})

t.test('if the rollback fails too, the first failure is reported', async t => {
  const path = join(t.testdir(), 'plants.db')
  const binding = new FaultyBinding()
  const table = openTable(t, path, binding.Database)
  binding.failing = ['COMMIT', 'ROLLBACK']
  failure(t, () => table.write(FICUS), { outcomeUnknown: true, reopen: true }, /^COMMIT failed$/)
  binding.failing = []
})

/** The SQLite binding, with statements that fail on demand. */
class FaultyBinding {
  failing: string[] = []
  errcode = 10
  readonly executed: string[] = []

  /** The class for connections. */
  get Database (): DatabaseClass {
    const faulty = this
    return class extends DatabaseSync {
      override exec (sql: string): void {
        faulty.executed.push(sql)
        faulty.#run(sql)
        super.exec(sql)
      }

      override prepare (sql: string): StatementSyncInstance {
        const statement = super.prepare(sql)
        for (const method of ['run', 'get'] as const) {
          const execute = statement[method]
          Object.defineProperty(statement, method, {
            value: (...values: unknown[]) => {
              faulty.#run(sql)
              return execute.apply(statement, values)
            }
          })
        }
        return statement
      }
    }
  }

  #run (sql: string): void {
    if (this.failing.includes(sql)) throw Object.assign(new Error(`${sql} failed`), { errcode: this.errcode })
  }
}
