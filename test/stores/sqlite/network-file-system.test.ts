import promises from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { storeWarning } from '../../../src/service/create-store.js'
import { networkFileSystem } from '../../../src/stores/sqlite/network-file-system.js'
import { replaceBuiltin } from '../../support/replace-builtin.js'

const path = '/data/plants.db'

/** Fakes the type of the file system at /data; returns a function that sets it. */
function fakeFileSystemType (t: Test): (type: number) => void {
  let current = 0
  t.intercept(process, 'platform', { value: 'linux' })
  const statfs = async (folder: unknown) => folder === '/data' ? { type: current } : {}
  replaceBuiltin(t, promises, 'statfs', statfs as typeof promises.statfs)
  return type => { current = type }
}

t.test('neither a local folder nor a missing one is on a network file system', { skip: process.platform !== 'linux' }, async t => {
  t.equal(await networkFileSystem(join(t.testdir(), 'plants.db')), undefined)
  t.equal(await networkFileSystem(join(t.testdir(), 'missing', 'plants.db')), undefined)
})

t.test('on Linux, network file systems are recognized by their type', async t => {
  const setType = fakeFileSystemType(t)
  for (const [type, name] of [
    [0x6969, 'NFS'], [0x517b, 'SMB'], [0xfe534d42, 'SMB'], [0xff534d42, 'CIFS'], [0x5346414f, 'AFS'], [0x6b414653, 'AFS'], [0x00c36400, 'Ceph'],
    [0x01021997, '9P'], [0x0bd00bd0, 'Lustre'], [0x47504653, 'GPFS'], [0x73757245, 'Coda'], [0xef53, undefined]
  ] as const) {
    setType(type)
    t.equal(await networkFileSystem(path), name)
  }
})

t.test('on Windows, they are recognized by their path; on other systems not at all', async t => {
  t.intercept(process, 'platform', { value: 'win32' })
  t.equal(await networkFileSystem('\\\\server\\share\\plants.db'), 'SMB')
  t.equal(await networkFileSystem('C:\\data\\plants.db'), undefined)
  t.intercept(process, 'platform', { value: 'darwin' })
  t.equal(await networkFileSystem(path), undefined)
})

t.test('the service warns of a network file system', async t => {
  fakeFileSystemType(t)(0x6969)
  t.match(await storeWarning({ DATA_DIR: '/data' }), /^DATA_DIR is on a network file system \(NFS\)/)
  t.equal(await storeWarning({ DATA_DIR: '/data', MONGODB_URL: 'mongodb://127.0.0.1' }), undefined)
})
