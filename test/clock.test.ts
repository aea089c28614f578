import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../src/clock.js'

t.test('a delay may be negative, or longer than a timer of Node, without a warning', async t => {
  const warnings: Error[] = []
  const note = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', note)
  t.teardown(() => { process.off('warning', note) })
  let calls = 0
  const distant = [2 ** 31, 2 ** 40, Infinity].map(delay => systemClock.setTimeout(() => { calls++ }, delay))
  await new Promise<void>(resolve => { systemClock.setTimeout(resolve, -1_000) })
  await sleep(10)
  for (const timer of distant) systemClock.clearTimeout(timer)
  t.equal(calls, 0)
  t.strictSame(warnings, [])
})
