import fs, { copyFileSync, cpSync, renameSync, rmSync, utimesSync, writeFileSync, type StatSyncOptions } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { OpenFiles } from '../../../src/stores/sqlite/open-files.js'

const DATABASE = 'plants.db'
const { statSync } = fs

/** The path of a database with its log and index. */
function databaseIn (t: Test): string {
  const folder = t.testdir({ data: { [DATABASE]: '', [`${DATABASE}-wal`]: '', [`${DATABASE}-shm`]: '' } })
  return join(folder, 'data', DATABASE)
}

/** Files in a folder that has not changed for long, so that only the folder is looked at. */
function settledFiles (t: Test): { path: string, files: OpenFiles } {
  const path = databaseIn(t)
  const later = Date.now() + 60_000
  t.intercept(Date, 'now', { value: () => later })
  const files = new OpenFiles(path)
  t.equal(files.state(), 'inPlace')
  t.equal(files.state(), 'inPlace')
  return { path, files }
}

function replace (path: string): void {
  writeFileSync(`${path}.new`, '')
  renameSync(`${path}.new`, path)
}

for (const suffix of ['-wal', '-shm']) {
  t.test(`the deletion and the replacement of the ${suffix} file are noticed`, async t => {
    const { path, files } = settledFiles(t)
    replace(path + suffix)
    t.equal(files.state(), 'withoutLog')
    rmSync(path + suffix)
    t.equal(files.state(), 'withoutLog')
  })
}

t.test('a database file that is moved away is missing until it is back', async t => {
  const { path, files } = settledFiles(t)
  renameSync(path, `${path}.away`)
  t.equal(files.state(), 'missing')
  t.equal(files.state(), 'missing')
  renameSync(`${path}.away`, path)
  t.equal(files.state(), 'inPlace')
})

t.test('a restored backup is noticed, although the folder has its old modification time again', async t => {
  const { path, files } = settledFiles(t)
  const { atime, mtime } = statSync(dirname(path))
  utimesSync(dirname(path), atime, mtime)
  t.equal(files.state(), 'inPlace')
  copyFileSync(path, `${path}.backup`)
  renameSync(`${path}.backup`, path)
  utimesSync(dirname(path), atime, mtime)
  t.equal(files.state(), 'replaced')
})

t.test('another folder in the place of the first is noticed', async t => {
  const { path, files } = settledFiles(t)
  const folder = dirname(path)
  cpSync(folder, `${folder}.copy`, { recursive: true })
  renameSync(folder, `${folder}.away`)
  t.equal(files.state(), 'missing')
  renameSync(`${folder}.copy`, folder)
  t.equal(files.state(), 'replaced')
})

t.test('a change in the same unit of time as the last one is noticed, although the timestamps are unchanged', async t => {
  const path = databaseIn(t)
  const folder = dirname(path)
  const frozen = statSync(folder, { bigint: true })
  t.intercept(fs, 'statSync', {
    value: (path: string, options: StatSyncOptions) => path === folder ? frozen : statSync(path, options)
  })
  syncBuiltinESMExports()
  t.teardown(syncBuiltinESMExports)
  const files = new OpenFiles(path)
  t.equal(files.state(), 'inPlace')
  t.equal(files.state(), 'inPlace')
  rmSync(`${path}-wal`)
  t.equal(files.state(), 'withoutLog')
})
