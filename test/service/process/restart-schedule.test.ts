import t, { type Test } from 'tap'
import { restartSchedule } from '../../../src/service/cluster/restart-schedule.js'
import { VirtualClock } from '../../support/virtual-clock.js'

function schedule (t: Test) {
  const clock = new VirtualClock()
  const started: [place: string, at: number][] = []
  const begin = clock.now()
  const restarts = restartSchedule<string>(place => { started.push([place, clock.now() - begin]) }, clock)
  t.teardown(() => restarts.stop())
  return { clock, started, restarts }
}

t.test('the delay doubles each time a worker exits soon after its start, up to 10 s', async t => {
  const { clock, started, restarts } = schedule(t)
  const delays: number[] = []
  for (let turn = 0; turn < 9; turn++) {
    delays.push(restarts.replace('a', 0, 2))
    await clock.pass(delays.at(-1) as number)
  }
  t.strictSame(delays, [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
  t.equal(started.length, 9)
})

t.test('a worker that was ready for a second is replaced after 100 ms', async t => {
  const { clock, restarts } = schedule(t)
  for (let turn = 0; turn < 5; turn++) await clock.pass(restarts.replace('a', 999, 2))
  t.equal(restarts.replace('a', 1_000, 2), 100)
  await clock.pass(100)
  t.equal(restarts.replace('a', 0, 2), 200, 'the delay doubles from there')
})

t.test('each place has its own back-off', async t => {
  const { clock, restarts } = schedule(t)
  for (let turn = 0; turn < 5; turn++) await clock.pass(restarts.replace('a', 0, 2))
  t.equal(restarts.replace('b', 0, 2), 100)
})

t.test('if one of three workers is killed every second, two are always ready', async t => {
  const { clock, started, restarts } = schedule(t)
  const readyAt = new Map([['a', 0], ['b', 0], ['c', 0]])
  const startTime = 500
  for (let second = 1; second <= 60; second++) {
    await clock.pass(1_000)
    const now = second * 1_000
    for (const [place, at] of started.splice(0)) readyAt.set(place, at + startTime)
    const ready = [...readyAt].filter(([, at]) => at <= now)
    t.equal(ready.length, 3, `after ${second} s`)
    const [victim, since] = ready[second % 3] as [string, number]
    restarts.replace(victim, now - since, 2)
  }
})

t.test('if no worker is left, the next one starts within a second', async t => {
  const { clock, started, restarts } = schedule(t)
  for (const place of ['a', 'b']) for (let turn = 0; turn < 8; turn++) await clock.pass(restarts.replace(place, 0, 2))
  started.length = 0
  const begin = clock.now()
  t.equal(restarts.replace('a', 0, 1), 10_000)
  await clock.pass(4_000)
  t.equal(restarts.replace('b', 0, 0), 10_000)
  await clock.pass(1_000)
  t.strictSame(started.map(([place]) => place), ['a'], 'the one that was due first is started early')
  await clock.pass(8_999)
  t.equal(started.length, 1)
  await clock.pass(1)
  t.strictSame(started.map(([place]) => place), ['a', 'b'], 'the other one is started when it is due')
  t.equal(clock.now() - begin, 14_000)
})

t.test('an only worker is also replaced within a second', async t => {
  const { clock, started, restarts } = schedule(t)
  for (let turn = 0; turn < 8; turn++) await clock.pass(restarts.replace('a', 0, 0))
  t.equal(restarts.replace('a', 0, 0), 1_000)
  await clock.pass(1_000)
  t.equal(started.length, 9)
})

t.test('the returned delay is the back-off, even if the process is slow', async t => {
  class SlowClock extends VirtualClock {
    override now (): number { return super.now() + this.#delay++ }
    #delay = 0
  }
  const restarts = restartSchedule<string>(() => {}, new SlowClock())
  t.teardown(() => restarts.stop())
  t.equal(restarts.replace('a', 0, 2), 100)
  t.equal(restarts.replace('b', 0, 0), 100, 'even if no worker is left')
})

t.test('no worker is started after stop', async t => {
  const { clock, started, restarts } = schedule(t)
  restarts.replace('a', 0, 0)
  restarts.stop()
  await clock.pass(100_000)
  t.strictSame(started, [])
})
