import { existsSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { StatementSyncInstance } from '@photostructure/sqlite'
import t from 'tap'
import { identityOf, type DatabaseClass } from '../../../src/stores/sqlite/database.js'
import { PlantsTable } from '../../../src/stores/sqlite/plants-table.js'
import { failureOf, type Failure } from '../../../src/stores/sqlite/sqlite-error.js'
import { DatabaseSync, execute, openSqlite, plantsInFile } from '../../support/stores/sqlite-file.js'
import { openTable } from './tables-and-threads.js'

const FICUS = [[1n, 'Ficus', null]] as const

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

t.test('a commit is on disk before it is acknowledged: synchronous is FULL, with fullfsync for macOS', async t => {
  const binding = new FaultyBinding()
  openTable(t, join(t.testdir(), 'plants.db'), binding.Database)
  const settings = binding.executed.join('\n')
  const expected = ['synchronous = FULL', 'fullfsync = ON', 'checkpoint_fullfsync = ON']
  for (const setting of expected) t.match(settings, `PRAGMA ${setting}`)
})

t.test('a file is opened with an empty log, which a failed sync, also of a killed process, may have lost', async t => {
  const path = join(t.testdir(), 'plants.db')
  const table = openTable(t, path)
  for (const openedFile of [undefined, identityOf(path)]) {
    table.write([[openedFile === undefined ? 1n : 2n, 'x'.repeat(1_000_000), null]])
    t.ok(statSync(`${path}-wal`).size > 1_000_000)
    new PlantsTable(DatabaseSync, path, openedFile).close()
    t.ok(statSync(`${path}-wal`).size < 100_000)
  }
})

t.test('a file that was open before is not opened while another program keeps its log from being emptied', async t => {
  const path = join(t.testdir(), 'plants.db')
  openTable(t, path).write(FICUS)
  const reader = openSqlite(path)
  reader.exec('BEGIN; SELECT * FROM plants')
  const reopen = () => new PlantsTable(DatabaseSync, path, identityOf(path))
  const message = /^another program is reading the log of .*plants\.db, which must be emptied: stop that program$/
  t.throws(reopen, { message })
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

t.test('a fault that retrying cannot fix makes the file unusable; any other while opening is temporary', async t => {
  const path = join(t.testdir(), 'plants.db')
  const kinds: Partial<Record<Failure['kind'], object[]>> = {
    unusable: [
      ...[3, 8, 8 | 1 << 8, 11, 14, 26].map(errcode => ({ errcode })),
      ...['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].map(code => ({ code }))
    ],
    refused: [{ errcode: 13 }],
    busy: [{ errcode: 5 }, { errcode: 10 }, { code: 'ENOSPC' }, { code: 'EMFILE' }, { code: 'EIO' }, {}]
  }
  for (const [kind, codes = []] of Object.entries(kinds)) {
    for (const code of codes) {
      class Failing {
        constructor () { throw Object.assign(new Error('a fault'), code) }
      }
      const error = t.throws(() => new PlantsTable(Failing as unknown as DatabaseClass, path))
      t.match(failureOf(error), { kind, message: /a fault/ }, JSON.stringify(code))
    }
  }
})

t.test('a plant is not acknowledged if its file is replaced just before the commit', async t => {
  const path = join(t.testdir(), 'plants.db')
  const binding = new FaultyBinding()
  const table = openTable(t, path, binding.Database)
  execute(path, `VACUUM INTO '${path}.backup'`)
  binding.beforeCommit = () => renameSync(`${path}.backup`, path)
  const message = /plants\.db was deleted, moved or replaced while it was open: .* restart$/
  t.match(table.write(FICUS), { kind: 'unknown', message })
  t.match(table.write(FICUS), { kind: 'refused', message }, 'nor is a later one stored')
})

t.test('a failed commit leaves the outcome unknown, except for a lock or a full disk', async t => {
  const cases: { errcode: number, kind: Failure['kind'], closes?: true }[] = [
    { errcode: 5, kind: 'busy' },
    { errcode: 5 | 2 << 8, kind: 'busy' },
    { errcode: 13, kind: 'refused' },
    { errcode: 10, kind: 'unknown', closes: true },
    { errcode: 10 | 4 << 8, kind: 'unknown', closes: true },
    { errcode: NaN, kind: 'unknown', closes: true },
    { errcode: 11, kind: 'unknown' }
  ]
  const folder = t.testdir()
  const binding = new FaultyBinding()
  for (const { errcode, kind, closes } of cases) {
    const table = openTable(t, join(folder, `plants-${errcode}.db`), binding.Database)
    binding.errcode = errcode
    binding.failing = ['COMMIT']
    const message = 'COMMIT failed'
    t.same(table.write(FICUS), { kind, message, ...closes && { closes } })
    binding.failing = []
    t.strictSame(table.write(FICUS), ['stored'], 'the transaction was rolled back')
  }
})

t.test('a plant that fails because of the disk ends the write; the first failure is reported', async t => {
  const path = join(t.testdir(), 'plants.db')
  const binding = new FaultyBinding()
  const table = openTable(t, path, binding.Database)
  binding.failing = ['INSERT INTO plants(id, name, tag) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))', 'ROLLBACK']
  t.match(table.write(FICUS), { kind: 'busy', message: /^INSERT INTO .* failed$/, closes: true })
  binding.failing = []
  t.equal(plantsInFile(path).size, 0)
  t.match(table.write(FICUS), { kind: 'busy', message: /within a transaction/, closes: true })
})
