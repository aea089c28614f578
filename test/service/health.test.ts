import t, { type Test } from 'tap'
import { Health } from '../../src/service/health.js'
import { VirtualClock } from '../support/virtual-clock.js'

/** The health of a store whose checks settle when the test says so. */
function watched (t: Test) {
  const clock = new VirtualClock()
  const checks: { pass: () => void, fail: (error: Error) => void }[] = []
  async function ready (): Promise<void> {
    return new Promise((resolve, reject) => { checks.push({ pass: resolve, fail: reject }) })
  }
  const health = new Health({ create: async () => 'stored', ready }, clock)
  t.teardown(() => { health.close() })
  return { clock, checks, health }
}

t.test('a store that hangs has one check, however often it is probed, and each probe is answered within 3 s', async t => {
  const { clock, checks, health } = watched(t)
  const answers: (string | undefined)[] = []
  const probe = (): void => { health.fault().then(answer => { answers.push(answer) }) }
  for (let second = 0; second < 60; second++) {
    probe()
    await clock.pass(1_000)
  }
  await clock.pass(3_000)
  t.equal(checks.length, 1)
  t.strictSame(answers, Array(60).fill('the store did not respond within 3000 ms'))

  checks[0]?.pass()
  await clock.turns()
  probe()
  await clock.turns()
  t.equal(checks.length, 2, 'the next probe has a new check')
  checks[1]?.pass()
  await clock.turns()
  t.equal(answers.at(-1), undefined)
})

t.test('a check that fails after its probes were answered does not fail the process, nor the next probe', async t => {
  const { clock, checks, health } = watched(t)
  const late = health.fault()
  await clock.pass(3_000)
  checks[0]?.fail(new Error('the connection was closed'))
  await clock.turns()
  t.match(await late, /did not respond/)
  const next = health.fault()
  await clock.turns()
  checks[1]?.pass()
  t.equal(await next, undefined)
})

t.test('without probes, isReady is right within 15 s, whether the store fails, hangs or recovers', async t => {
  const clock = new VirtualClock()
  let state: 'well' | 'failing' | 'hanging' = 'well'
  let release = (): void => {}
  async function ready (): Promise<void> {
    if (state === 'failing') throw new Error('the disk is full')
    if (state === 'hanging') await new Promise<void>(resolve => { release = resolve })
  }
  const health = new Health({ create: async () => 'stored', ready }, clock)
  t.notOk(health.isReady, 'not before the first check')
  health.watchStore()
  await clock.turns()
  t.ok(health.isReady)
  for (const next of ['failing', 'well', 'hanging', 'well'] as const) {
    state = next
    if (next === 'well') release()
    await clock.pass(15_000)
    t.equal(health.isReady, next === 'well', next)
  }
  health.overloaded = true
  t.notOk(health.isReady, 'overloaded')
  health.overloaded = false
  t.equal(clock.timers, 0, 'no timer keeps the process alive')
  health.close()
  t.notOk(health.isReady, 'shutting down')
  t.equal(clock.next, undefined, 'no timer is left')
})
