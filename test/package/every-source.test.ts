import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { projectFile } from '../support/process/project.js'

/** These run when they are imported; other tests start them. */
const { sideEffects } = JSON.parse(readFileSync(projectFile('package.json'), 'utf8')) as { sideEffects: string[] }
const entryPoints = sideEffects.map(path => path.replace('./dist/', '')).filter(path => path !== 'http/schemas/create-plant-schema.js')

t.test('importing any source has no effect, and coverage includes sources that no other test imports', async t => {
  const src = new URL('../../src/', import.meta.url)
  const sources = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.js'))
  t.ok(sources.length > 20)
  t.strictSame(entryPoints.filter(path => !sources.includes(path)), [])
  const before = process.getActiveResourcesInfo().length
  for (const source of sources) {
    if (entryPoints.includes(source)) continue
    const exported = await import(new URL(source, src).href) as object
    t.type(exported, 'object', source)
  }
  t.equal(process.getActiveResourcesInfo().length, before, 'no timer, socket or thread is left')
})
