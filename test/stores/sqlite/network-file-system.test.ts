import promises from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { storeWarning } from '../../../src/service/create-store.js'
import { replaceBuiltin } from '../../support/replace-builtin.js'

t.test('the service warns of a network file system', async t => {
  let type = 0
  const statfs = async (folder: unknown) => folder === '/data' ? { type } : {}
  replaceBuiltin(t, promises, 'statfs', statfs as typeof promises.statfs)
  for (const [network, name] of [[0x6969, 'NFS'], [0xfe534d42, 'SMB'], [0x73757245, 'Coda']] as const) {
    type = network
    t.equal(await storeWarning({ DATA_DIR: '/data' }), `DATA_DIR is on a network file system (${name}), on which SQLite can lose plants: use a local disk, or MongoDB`)
  }
  t.equal(await storeWarning({ DATA_DIR: '/data', MONGODB_URL: 'mongodb://127.0.0.1' }), undefined)
})

t.test('it warns neither of a local folder nor of a missing one', async t => {
  t.equal(await storeWarning({ DATA_DIR: t.testdir() }), undefined)
  t.equal(await storeWarning({ DATA_DIR: join(t.testdir(), 'missing') }), undefined)
})
