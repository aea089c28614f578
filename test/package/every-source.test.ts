import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { projectFile } from '../support/process/program.js'

/** These run when they are imported; other tests start them. */
const { sideEffects } = JSON.parse(readFileSync(projectFile('package.json'), 'utf8')) as { sideEffects: string[] }
const entryPoints = sideEffects.map(path => path.replace('./dist/', ''))

// In a file of its own, as other tests in this process would have timers and sockets.
t.test('importing any source has no effect, and coverage includes sources that no other test imports', async t => {
  const src = new URL('../../src/', import.meta.url)
  const sources = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.js'))
  t.strictSame(entryPoints.filter(path => !sources.includes(path)), [])
  const before = process.getActiveResourcesInfo().length
  for (const source of sources) {
    if (!entryPoints.includes(source)) t.type(await import(new URL(source, src).href), 'object', source)
  }
  t.equal(process.getActiveResourcesInfo().length, before, 'no timer, socket or thread is left')
})
