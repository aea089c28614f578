import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { bugs } from './bugs.js'

// In a separate process: tap tracks every promise, which makes them five times as slow.
const simulation = fileURLToPath(new URL('simulate.js', import.meta.url))

t.test('in three thousand stories of a failing store, every response is truthful', async t => {
  const output = await new Promise<string>(resolve => {
    execFile(process.execPath, [simulation, '--count', '3000'], { env: {} }, (_error, stdout) => resolve(stdout))
  })
  t.match(output, /^3000 stories from seed 1, no contradiction/)
})

t.test('each bug that the simulation must find still applies to the source', async t => {
  for (const { name, file, find } of bugs) {
    const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8')
    t.ok(source.includes(find), name)
  }
})
