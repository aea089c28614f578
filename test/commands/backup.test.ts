import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { createFile } from '../../src/service/commands/new-file.js'
import { failingCalls, withCompiler } from '../support/process/failing-calls.js'
import { projectFile, testFolder } from '../support/process/program.js'
import { mountSmallDisk, withSmallDisk } from '../support/process/small-disk.js'
import { openSqlite, storeAt } from '../support/stores/sqlite-file.js'
import { bytesOfPlants, fill, hardPlants, manyPlants, partial } from './plants.js'
import { runHere } from './run-here.js'

t.test('while plants are created, a backup has all that were acknowledged before; it replaces no file', async t => {
  const folder = testFolder(t)
  const path = join(folder, 'plants.db')
  const file = join(folder, 'backup.db')
  fill(folder, [...hardPlants, ...manyPlants(5_000, 1_000)])
  chmodSync(path, 0o640)
  const before = bytesOfPlants(path)
  const store = storeAt(t, path)
  await store.open()
  const ended = new AbortController()
  let created = 0n
  const creating = (async () => {
    for (; !ended.signal.aborted; created++) {
      await store.create({ id: -1_000n - created, name: 'meanwhile' }, performance.now() + 10_000)
    }
  })()
  const { code, stdout, stderr } = await runHere(['backup', file], { DATA_DIR: folder })
  ended.abort()
  await creating
  t.match({ code, stdout, stderr }, { code: 0, stdout: /^$/, stderr: /^$/ })
  t.ok(created > 0n, 'plants were created meanwhile')
  const after = bytesOfPlants(file, "name <> 'meanwhile'")
  t.ok(isDeepStrictEqual(after, before))
  t.equal(statSync(file).mode & 0o007, 0, 'the backup is not readable by more users than the database')
  const copy = openSqlite(file)
  t.match(copy.prepare('PRAGMA integrity_check').get(), { integrity_check: 'ok' })
  t.match(copy.prepare('PRAGMA user_version').get(), { user_version: 1 })
  copy.close()

  const bytes = readFileSync(file)
  const again = await runHere(['backup', file], { DATA_DIR: folder })
  t.match(again, { code: 1, stderr: /^plant-store: .*backup\.db already exists.*\n$/ })
  t.ok(readFileSync(file).equals(bytes))
  t.strictSame(partial(folder), [])
})

t.test('a file may have the longest name; a fault of its folder is named as the user named the file', async t => {
  const folder = testFolder(t)
  const name = join(folder, 'é'.repeat(127))
  await createFile(name, async partialPath => writeFileSync(partialPath, 'new'))
  t.equal(readFileSync(name, 'utf8'), 'new')
  t.equal(readdirSync(folder).length, 1)
  const write = async (): Promise<void> => { t.fail('nothing is written') }
  await t.rejects(createFile(join(name, 'x.db'), write), { message: `ENOTDIR: not a directory, open '${name}/x.db'` })
  const message = /new\/ is the name of a folder: choose that of a file$/
  await t.rejects(createFile(`${folder}/new/`, write), { message })
})

t.test('a backup and an export to a full disk leave no file', withSmallDisk, async t => {
  const folder = testFolder(t)
  // More than SQLite's cache: it writes before the commit, and so needs a journal.
  fill(folder, manyPlants(4_000).map(plant => ({ ...plant, name: 'n'.repeat(1_000) })))
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  mountSmallDisk(t, disk, '1m')
  const commands = { backup: 'database or disk is full', export: 'ENOSPC: no space left on device' }
  for (const [name, message] of Object.entries(commands)) {
    const { code, stderr } = await runHere([name, join(disk, 'plants')], { DATA_DIR: folder })
    t.equal(code, 1)
    t.match(stderr, `plant-store: ${message}`)
    t.strictSame(readdirSync(disk), [])
  }
})

t.test('failures are reported in one line, with the name that the user gave', async t => {
  const folder = testFolder(t)
  const file = join(folder, 'backup.db')
  writeFileSync(join(folder, 'other'), '')
  fill(join(folder, 'data'), [])
  const here = { DATA_DIR: join(folder, 'data') }
  const inMissing = join(relative('.', join(folder, 'nowhere')), 'backup.db')
  const cases = [
    {
      file,
      env: { ...here, MONGODB_URL: 'mongodb://127.0.0.1:1/' },
      message: 'MONGODB_URL is set: back up MongoDB with its own tools, such as mongodump'
    },
    { file: inMissing, env: here, message: `ENOENT: no such file or directory, open '${inMissing}'` },
    { file: join(folder, 'other', 'backup.db'), env: here, message: /^ENOTDIR: not a directory, .*other/ }
  ]
  for (const { file, env, message } of cases) {
    const { code, stderr } = await runHere(['backup', file], env)
    t.equal(code, 1)
    t.match(stderr.replace('plant-store: ', '').trimEnd(), message)
    t.equal(stderr.split('\n').length, 2)
  }
  t.notOk(existsSync(file))
})

t.test('on a terminal, a backup says what it wrote, unless it is told to be quiet', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(10))
  const file = join(folder, 'backup.db')
  const { code, stdout, stderr } = await runHere(['backup', file], { DATA_DIR: folder }, { isTTY: true })
  t.match({ code, stdout }, { code: 0, stdout: /^$/ })
  t.equal(stderr, `backup: wrote ${file}, ${statSync(file).size.toLocaleString('en')} bytes\n`)
  const quiet = await runHere(['backup', '-q', `${file}.2`], { DATA_DIR: folder }, { isTTY: true })
  t.match(quiet, { code: 0, stdout: /^$/, stderr: /^$/ })
})

t.test('a file that another program creates meanwhile is not replaced', async t => {
  const folder = t.testdir()
  const path = join(folder, 'plants.ndjson')
  const creating = createFile(path, async partialPath => {
    writeFileSync(partialPath, 'new')
    writeFileSync(path, 'of another')
  })
  await t.rejects(creating, { message: /plants\.ndjson already exists/ })
  t.equal(readFileSync(path, 'utf8'), 'of another')
  t.strictSame(readdirSync(folder), ['plants.ndjson'])
})

t.test('a file is absent if it, or its folder, cannot be synced', withCompiler, async t => {
  const folder = testFolder(t)
  const files = join(folder, 'files')
  mkdirSync(files)
  const path = join(files, 'plants.ndjson')
  const calls = failingCalls(folder)
  const cases = [
    { kind: 'sync', file: 'plants.ndjson', outcome: 'EIO', left: [] },
    { kind: 'sync', file: '/files$', outcome: 'EIO', left: [] },
    // As on a file system without hard links.
    { kind: 'link', file: '', outcome: 'created', left: ['plants.ndjson'] }
  ]
  const script = `
    import { readdirSync, rmSync, writeFileSync } from 'node:fs'
    import { createFile } from '${pathToFileURL(projectFile('build/src/service/commands/new-file.js'))}'
    const results = []
    for (const { kind, file } of ${JSON.stringify(cases)}) {
      process.env.FAULTY_FILE = file
      const fault = process.env.FAULT_SWITCH + '.' + kind
      writeFileSync(fault, '')
      const creating = createFile('${path}', async partialPath => writeFileSync(partialPath, 'new'))
      const outcome = await creating.then(() => 'created', ({ code }) => code)
      results.push({ outcome, left: readdirSync('${files}') })
      for (const path of ['${path}', fault]) rmSync(path, { force: true })
    }
    console.log(JSON.stringify(results))`
  const words = ['--input-type=module', '-e', script]
  const results = execFileSync(process.execPath, words, { env: calls.env, encoding: 'utf8' })
  t.strictSame(JSON.parse(results), cases.map(({ outcome, left }) => ({ outcome, left })))
})
