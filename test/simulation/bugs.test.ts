import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { bugs } from './bugs.js'

const src = fileURLToPath(new URL('../../src', import.meta.url))

t.test('each bug that the simulation must find still applies to the source', async t => {
  for (const { name, file, find, replace } of bugs) {
    const source = readFileSync(join(src, file), 'utf8')
    t.ok(source.includes(find), name)
    t.not(source.replace(find, replace), source, name)
  }
})
