import { once } from 'node:events'
import { createWriteStream, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, type Writable } from 'node:stream'
import t from 'tap'
import { writeLines } from '../../src/commands/export.js'
import { createFile } from '../../src/commands/new-file.js'
import { Tally } from '../../src/commands/copy.js'
import { failingCalls, withCompiler } from '../support/process/failing-calls.js'
import { Program, run, testFolder } from '../support/process/program.js'
import { execute } from '../support/stores/sqlite-file.js'
import { fill, manyPlants, pagesOf, partial } from './plants.js'

t.test('an existing file is not replaced', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(3))
  const file = join(folder, 'plants.ndjson')
  writeFileSync(file, 'mine')
  const { code, stderr } = await run(['export', file], { DATA_DIR: folder })
  t.equal(code, 1)
  t.match(stderr, /^plant-store: .*plants\.ndjson already exists.*\n$/)
  await t.rejects(createFile(file, async () => {}), { message: /already exists/ }, 'nor if it was created meanwhile')
  t.equal(readFileSync(file, 'utf8'), 'mine')
  t.strictSame(partial(folder), [])
})

t.test('a row that is not a valid plant is named by its id, and the others are exported', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(3))
  execute(join(folder, 'plants.db'), "INSERT INTO plants VALUES (10, CAST(x'66ff' AS TEXT), NULL)")
  const { code, stdout, stderr } = await run(['export', '--quiet'], { DATA_DIR: folder }, { counted: true })
  t.equal(code, 1)
  t.equal(stdout, '{"id":0,"name":"plant 0"}\n{"id":1,"name":"plant 1","tag":"odd"}\n{"id":2,"name":"plant 2"}\n')
  t.equal(stderr, 'id 10: its name or tag is not UTF-8 text\n')
})

t.test('an export exits without a message if the reader closes the pipe', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(20_000))
  const { child, ended } = new Program(['export', '--quiet'], { DATA_DIR: folder })
  child.stdout?.once('data', () => child.stdout?.destroy())
  const { code, stderr } = await ended
  t.equal(code, 1)
  t.equal(stderr, '')
})

t.test('an export that is interrupted while its reader is slow exits immediately', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(20_000))
  const exporting = new Program(['export'], { DATA_DIR: folder })
  const { child } = exporting
  // The other plants are not read: the pipe is full after 64 KiB.
  child.stdout?.once('data', () => child.stdout?.pause())
  await once(child.stdout as NodeJS.ReadableStream, 'pause')
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  child.stdout?.destroy()
  t.equal(code, 1)
  t.match((await exporting.ended).stderr, /^exported \d+, invalid 0\nnot finished: interrupted: nothing is kept/m)
})

t.test('an interrupted export stops at the next page, and leaves no file', async t => {
  const folder = t.testdir()
  const copied = async (writeTo: (write: (output: Writable) => Promise<void>) => Promise<void>) => {
    const interruption = new AbortController()
    const tally = new Tally(() => {})
    async function * pages () {
      yield * pagesOf(manyPlants(3))
      interruption.abort()
      yield * pagesOf(manyPlants(3))
    }
    await t.rejects(writeTo(output => writeLines(pages(), output, tally, interruption.signal)))
    return tally.copied
  }
  t.equal(await copied(write => createFile(join(folder, 'plants.ndjson'), path => write(createWriteStream(path)))), 3)
  t.strictSame(readdirSync(folder), [])
  // Standard output cannot be destroyed.
  const output = new PassThrough().resume()
  output.destroy = () => output
  t.equal(await copied(write => write(output)), 3)
})

t.test('an export that fails because of the disk leaves no file', withCompiler, async t => {
  await Promise.all((['write', 'sync'] as const).map(async kind => {
    const folder = testFolder(t)
    fill(folder, manyPlants(3))
    const calls = failingCalls(folder, 'plants.ndjson')
    calls.begin(kind)
    const { code, stderr } = await run(['export', join(folder, 'plants.ndjson')], { ...calls.env, DATA_DIR: folder })
    t.equal(code, 1)
    t.match(stderr, /^not finished: .*plants\.ndjson cannot be written: .*(EIO|i\/o error)/m)
    t.strictSame(readdirSync(folder).filter(name => name.includes('plants.ndjson')), [])
  }))
})

t.test('on a file system without hard links, a file still appears complete', withCompiler, async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(3))
  const file = join(folder, 'plants.ndjson')
  const calls = failingCalls(folder)
  calls.begin('link')
  t.equal((await run(['export', file], { ...calls.env, DATA_DIR: folder })).code, 0)
  t.equal(readFileSync(file, 'utf8').split('\n').length, 4)
  t.strictSame(partial(folder), [])
})
