import fs, { existsSync, renameSync, statSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import type { StatementSyncInstance } from '@photostructure/sqlite'
import t, { type Test } from 'tap'
import { openDatabase, type DatabaseClass } from '../../../src/stores/sqlite/database.js'
import { PlantsTable } from '../../../src/stores/sqlite/plants-table.js'
import { SqliteFailure } from '../../../src/stores/sqlite/sqlite-failure.js'
import { DatabaseSync, execute, lockSqlite, openSqlite, plantsInFile } from '../../support/stores/sqlite-file.js'

const FICUS = [[1n, 'Ficus', null]] as const

/**
 * Replaces a function of a Node module until the end of the test, also for modules that import it by name.
 * @param module the default export of the module
 */
function replaceBuiltin<Module extends object, Name extends keyof Module> (
  t: Test, module: Module, name: Name, value: Module[Name]
): void {
  const original = module[name]
  const set = (value: Module[Name]): void => {
    module[name] = value
    syncBuiltinESMExports()
  }
  set(value)
  t.teardown(() => set(original))
}

/** The SQLite binding, with statements that fail on demand. */
class FaultyBinding {
  failing: string[] = []
  errcode = 10
  readonly executed: string[] = []
  beforeCommit = (): void => {}

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
        const { get } = statement
        return Object.defineProperty(statement, 'get', {
          value: (...values: unknown[]) => {
            faulty.executed.push(sql)
            faulty.#run(sql)
            return get.apply(statement, values)
          }
        })
      }
    }
  }

  #run (sql: string): void {
    if (sql === 'COMMIT') this.beforeCommit()
    if (this.failing.includes(sql)) throw Object.assign(new Error(`${sql} failed`), { errcode: this.errcode })
  }
}

function openTable (t: Test, path: string, Database: DatabaseClass = DatabaseSync): PlantsTable {
  const table = new PlantsTable(Database, path)
  t.teardown(() => table.close())
  return table
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

t.test('a file that was open before is opened with an empty log, since after a failed sync the log may not be on disk', async t => {
  const path = join(t.testdir(), 'plants.db')
  openTable(t, path).write([[1n, 'x'.repeat(1_000_000), null]])
  const table = new PlantsTable(DatabaseSync, path)
  t.ok(statSync(`${path}-wal`).size > 1_000_000)
  table.close()
  new PlantsTable(DatabaseSync, path, true).close()
  t.ok(statSync(`${path}-wal`).size < 100_000)
})

t.test('a file that was open before is not opened while another program keeps its log from being emptied', async t => {
  const path = join(t.testdir(), 'plants.db')
  openTable(t, path).write(FICUS)
  const reader = openSqlite(path)
  reader.exec('BEGIN; SELECT * FROM plants')
  const reopen = () => new PlantsTable(DatabaseSync, path, true)
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
  t.strictSame(table.write(FICUS), ['stored'])
  t.notOk(existsSync(`${path}-wal`))
  t.strictSame(table.write(FICUS), ['same'])
})

t.test('only a thorough check writes to the database', async t => {
  const binding = new FaultyBinding()
  const table = openTable(t, join(t.testdir(), 'plants.db'), binding.Database)
  for (const [thoroughly, writes] of [[false, []], [true, ['PRAGMA user_version = 1']]] as const) {
    binding.executed.length = 0
    table.check(thoroughly)
    t.strictSame(binding.executed, ['BEGIN IMMEDIATE', ...writes, 'COMMIT'])
  }
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
  const [highest, lowest] = [[2n ** 63n - 1n, 'Ficus', null], [-(2n ** 63n), 'Fern', null]] as const
  t.strictSame(table.write([highest]), ['stored'])
  t.strictSame(table.write([highest, lowest]), ['same', 'stored'])
  t.strictSame([...plantsInFile(path).keys()].sort(), [-(2n ** 63n), 2n ** 63n - 1n])
})

t.test('a fault that retrying cannot fix makes the file unusable; any other fault while opening is temporary', async t => {
  const path = join(t.testdir(), 'plants.db')
  const codes = (unusable: boolean) => unusable
    ? [...[3, 8, 8 | 1 << 8, 11, 14, 26].map(errcode => ({ errcode })), ...['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].map(code => ({ code }))]
    : [{ errcode: 5 }, { errcode: 10 }, { errcode: 13 }, { code: 'ENOSPC' }, { code: 'EMFILE' }, { code: 'EIO' }, {}]
  for (const unusable of [true, false]) {
    for (const code of codes(unusable)) {
      const Database = class { constructor () { throw Object.assign(new Error('a fault'), code) } } as unknown as DatabaseClass
      t.throws(() => new PlantsTable(Database, path), { name: 'Error', unusable, message: /a fault/ }, JSON.stringify(code))
    }
  }
})

t.test('a file that is replaced during the opening is not written', async t => {
  const path = join(t.testdir(), 'plants.db')
  openDatabase(DatabaseSync, path).close()
  execute(path, `VACUUM INTO '${path}.backup'`)
  const table = openTable(t, path, class extends DatabaseSync {
    override exec (sql: string): void {
      super.exec(sql)
      if (sql.includes('CREATE TABLE')) renameSync(`${path}.backup`, path)
    }
  })
  failure(t, () => table.write(FICUS), { reopen: true }, /plants\.db was replaced while it was open/)
})

t.test('a write waits for another program\'s lock as long as it may, and no longer', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  const other = lockSqlite(path)
  for (const [lockWaitMs, least] of [[-100, 0], [0, 0], [300, 300]] as const) {
    const began = performance.now()
    failure(t, () => table.write(FICUS, lockWaitMs), {}, /locked/)
    const waited = performance.now() - began
    t.ok(waited >= least && waited < least + 5_000, `${waited} ms`)
  }
  other.close()
  t.strictSame(table.write(FICUS), ['stored'])
})

t.test('a write that fails halfway stores none of its plants', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  execute(path, "CREATE TRIGGER no_ficus BEFORE INSERT ON plants WHEN NEW.name = 'Ficus' BEGIN SELECT RAISE(ABORT, 'no ficus here'); END")
  failure(t, () => table.write([[2n, 'Fern', null], ...FICUS]), {}, /no ficus here/)
  t.equal(plantsInFile(path).size, 0)
  t.strictSame(table.write([[2n, 'Fern', null]]), ['stored'])
})

t.test('a failed commit leaves the outcome unknown, except for a lock or a full disk', async t => {
  const lock = { outcomeUnknown: false, permanent: false, reopen: false }
  const fault = { outcomeUnknown: true, permanent: false, reopen: true }
  const codes: [errcode: number, expected: Partial<SqliteFailure>][] = [
    [5, lock], [5 | 2 << 8, lock], [13, { ...lock, permanent: true }], [10, fault], [10 | 4 << 8, fault], [NaN, fault],
    [11, { ...lock, outcomeUnknown: true }], [19, { ...lock, outcomeUnknown: true }]
  ]
  const folder = t.testdir()
  const binding = new FaultyBinding()
  for (const [errcode, expected] of codes) {
    const table = openTable(t, join(folder, `plants-${errcode}.db`), binding.Database)
    binding.errcode = errcode
    binding.failing = ['COMMIT']
    failure(t, () => table.write(FICUS), expected, /^COMMIT failed$/)
    failure(t, () => table.check(true), expected, /^COMMIT failed$/)
    binding.failing = []
    t.strictSame(table.write(FICUS), ['stored'], 'the transaction was rolled back')
  }
})

t.test('a plant that fails for any other reason than its id ends the write; if the rollback fails too, the first failure is reported', async t => {
  const path = join(t.testdir(), 'plants.db')
  const binding = new FaultyBinding()
  const table = openTable(t, path, binding.Database)
  binding.failing = ['INSERT OR ABORT INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))', 'ROLLBACK']
  failure(t, () => table.write(FICUS), { reopen: true }, /^INSERT OR ABORT .* failed$/)
  binding.failing = []
  t.equal(plantsInFile(path).size, 0)
  failure(t, () => table.write(FICUS), { reopen: true }, /within a transaction/)
})

t.test('plants whose file is moved away during their transaction are in the old file: their outcome is unknown', async t => {
  const path = join(t.testdir(), 'plants.db')
  const binding = new FaultyBinding()
  const table = new PlantsTable(binding.Database, path)
  binding.beforeCommit = () => renameSync(path, `${path}.old`)
  const failureOfWrite = (): unknown => {
    try {
      return table.write(FICUS)
    } catch (error) {
      return error
    }
  }
  t.match(failureOfWrite(), { outcomeUnknown: true, message: /moved away while it was open/ })
  renameSync(`${path}.old`, path)
  t.equal(plantsInFile(path).size, 1)
  renameSync(path, `${path}.old`)
  t.match(failureOfWrite(), { outcomeUnknown: false }, 'from then on nothing is written')
})
