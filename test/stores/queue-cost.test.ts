import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

t.test('a plant costs less than 8 times as much with 50,000 pending as with 1,000, little in an outage', async t => {
  // In a separate process: tap tracks every promise.
  const script = fileURLToPath(new URL('queue-cost.js', import.meta.url))
  const output = execFileSync(process.execPath, ['--max-semi-space-size=256', script, '1000', '50000'], { env: {} })
  const { costs, outOfOrder, shareInAnOutage } = JSON.parse(output.toString())
  t.comment(output.toString())
  t.ok(costs[50_000] < 8 * costs[1_000])
  t.ok(outOfOrder < 8 * costs[1_000], 'nor if their deadlines are not in order')
  t.ok(shareInAnOutage < 0.2)
})
