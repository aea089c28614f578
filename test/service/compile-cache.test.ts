import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { run, testFolder } from '../support/process/program.js'

/** Node 22.8 and later; the check of CI with the newest Node runs this file too. */
const hasCache = 'enableCompileCache' in module

/** The names in the folder of the temporary folder that belongs to the program. */
function kept (folder: string): string[] {
  const own = join(folder, `plant-store-${process.getuid?.()}`)
  return existsSync(own) ? readdirSync(own) : []
}

t.test('compiled code is kept in a folder of the user, which nobody else can write to, if Node keeps any', async t => {
  const TMPDIR = testFolder(t)
  t.match(await run(['--version'], { TMPDIR }), { code: 0, stderr: '' })
  t.equal(kept(TMPDIR).length, hasCache ? 1 : 0)
  const disabled = testFolder(t)
  t.match(await run(['--version'], { TMPDIR: disabled, NODE_DISABLE_COMPILE_CACHE: '1' }), { code: 0 })
  t.strictSame(kept(disabled), [])
})

t.test('a folder that others can write to is not used, and one that cannot be made fails nothing', async t => {
  const TMPDIR = testFolder(t)
  const own = join(TMPDIR, `plant-store-${process.getuid?.()}`)
  mkdirSync(own)
  chmodSync(own, 0o777)
  t.match(await run(['--version'], { TMPDIR }), { code: 0, stderr: '' })
  t.strictSame(kept(TMPDIR), [])
  for (const missing of [join(TMPDIR, 'none'), '/proc', '/dev/null']) {
    t.match(await run(['--version'], { TMPDIR: missing }), { code: 0, stderr: '' }, missing)
  }
})
