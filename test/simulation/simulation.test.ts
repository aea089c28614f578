import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { bare } from '../support/process/bare.js'

// In a separate process: tap tracks every promise, which makes them five times as slow.
const simulation = fileURLToPath(new URL('simulate.js', import.meta.url))

t.test('in ten thousand stories of a failing store, every response is truthful', async t => {
  const output = await new Promise<string>(resolve => {
    execFile('env', bare({}, [process.execPath, simulation, '--count', '10000']), (_error, stdout) => resolve(stdout))
  })
  t.match(output, /^10000 stories from seed 1, no contradiction/)
})
