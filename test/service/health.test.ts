import t from 'tap'
import { Health } from '../../src/service/health.js'
import { VirtualClock } from '../support/virtual-clock.js'

/** The health of a store whose checks settle when the test says so. */
function watched () {
  const clock = new VirtualClock()
  const checks: { pass: () => void, fail: (error: Error) => void }[] = []
  async function ready (): Promise<void> {
    return new Promise((resolve, reject) => { checks.push({ pass: resolve, fail: reject }) })
  }
  const health = new Health({ create: async () => 'stored', ready }, clock)
  return { clock, checks, health }
}

t.test('a store that hangs has one check, however often it is probed, and each probe is answered within 3 s', async t => {
  const { clock, checks, health } = watched()
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
  const { clock, checks, health } = watched()
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
