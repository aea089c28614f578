import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { linesOf } from '../../src/service/commands/sources/ndjson-source.js'
import { sqliteSource } from '../../src/service/commands/sources/sqlite-source.js'
import { testFolder } from '../support/process/program.js'
import { execute, TABLE } from '../support/stores/sqlite-file.js'
import { entriesOf, fill, manyPlants } from './plants.js'

const { signal } = new AbortController()

/** A database file with plants, on which SQL was run. */
function databaseWith (t: Test, count: number, sql: string): string {
  const folder = testFolder(t)
  fill(folder, manyPlants(count))
  const path = join(folder, 'plants.db')
  execute(path, sql)
  return path
}

t.test('a line that is too long for a string is invalid, and those after it are read', async t => {
  const part = 'x'.repeat(2 ** 27)
  const lines: string[] = []
  const chunks = [part, part, part, `${part}\n{"id":1}\n`, '{"id":2}\n{"id":', '5}\n']
  for await (const more of linesOf(Readable.from(chunks))) lines.push(...more)
  t.throws(() => JSON.parse(lines[0] ?? ''))
  t.strictSame(lines.slice(1), [1, 2, 5].map(id => `{"id":${id}}`))
})

t.test('a row that is not a valid plant is named by its id', async t => {
  const path = databaseWith(t, 2, `INSERT INTO plants VALUES (10, CAST(x'66ff' AS TEXT), NULL),
    (11, x'6162', NULL), (12, 'valid', x'00'), (13, 'valid', CAST(x'eda080' AS TEXT))`)
  const wellFormed = 'must be a string of well-formed Unicode'
  t.strictSame(await entriesOf(await sqliteSource(path)), [
    { where: 'id 0', plant: { id: 0n, name: 'plant 0' } },
    { where: 'id 1', plant: { id: 1n, name: 'plant 1', tag: 'odd' } },
    { where: 'id 10', plant: `name ${wellFormed}` },
    { where: 'id 11', plant: `name ${wellFormed}` },
    { where: 'id 12', plant: `tag ${wellFormed}, or be left out` },
    { where: 'id 13', plant: `tag ${wellFormed}, or be left out` }
  ])
})

t.test('a database that is missing, another program\'s, in other text or damaged is reported in one line', async t => {
  const missing = 'there is no nowhere/plants.db: set DATA_DIR to the folder of plants.db'
  await t.rejects(sqliteSource('nowhere/plants.db'), { message: missing })
  await t.rejects(sqliteSource('.'), { message: '. cannot be read: it is not a file' })
  const empty = databaseWith(t, 0, 'DROP TABLE plants')
  await t.rejects(sqliteSource(empty), { message: /plants\.db cannot be read: no such table: plants$/ })

  const wide = join(testFolder(t), 'plants.db')
  execute(wide, `PRAGMA encoding = 'UTF-16le'; ${TABLE})`)
  await t.rejects(sqliteSource(wide), { message: /plants\.db cannot be read: its text is in UTF-16le, not in UTF-8$/ })

  const damaged = databaseWith(t, 2_000, 'PRAGMA wal_checkpoint(TRUNCATE)')
  const file = readFileSync(damaged)
  writeFileSync(damaged, file.fill('damage', file.length / 2, file.length / 2 + 4_096))
  await t.rejects(sqliteSource(damaged).then(entriesOf), { message: 'database disk image is malformed' })
})

t.test('who cannot write to the folder is told as which user to read it', async t => {
  const folder = testFolder(t)
  const path = join(folder, 'plants.db')
  execute(path, `PRAGMA journal_mode = WAL; ${TABLE})`)
  chmodSync(folder, 0o555)
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  t.teardown(() => {
    if (isRoot) process.seteuid?.(0)
    chmodSync(folder, 0o755)
  })
  await t.rejects(sqliteSource(path), { message: /plants\.db cannot be read: .*: run this as the user that runs / })
})

t.test('plants created while a database is read do not prolong it', async t => {
  const path = databaseWith(t, 5_000, '')
  const source = await sqliteSource(path)
  let count = 0
  for await (const page of source.pages(signal)) {
    fill(join(path, '..'), manyPlants(1_000, 10_000 + count))
    count += page.length
    t.equal(source.part(count), count / 5_000)
  }
  t.equal(count, 5_000)
})

t.test('lines do not depend on how the bytes are split into chunks', async t => {
  async function split (text: string, size: number): Promise<string[]> {
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
    const lines = []
    for await (const some of linesOf(Readable.from(chunks))) lines.push(...some)
    return lines
  }
  // A carriage return is white space of JSON, and the bytes of a line separator (U+2028) may be in a name.
  const text = 'one\n\nth\rree\r\n\nfi\u00e2\u0080\u00a8ve'
  const lines = ['one', '', 'th\rree\r', '', 'fi\u00e2\u0080\u00a8ve']
  for (let size = 1; size <= text.length + 1; size++) t.strictSame(await split(text, size), lines, `chunks of ${size}`)
  t.strictSame(await split('one\n', 2), ['one'], 'no empty line follows the last newline')
})
