import t from 'tap'
import { Deadlines, type Waiter } from '../../src/http/deadlines.js'
import { VirtualClock } from '../support/virtual-clock.js'

function setUp () {
  const clock = new VirtualClock()
  const expired: string[] = []
  const waiter = (name: string, ms: number): Waiter =>
    ({ deadline: clock.now() + ms, expire: () => { expired.push(name) }, previous: undefined, next: undefined })
  return { clock, deadlines: new Deadlines(clock), expired, waiter }
}

t.test('each waiter expires once its deadline has passed, unless it was removed', async t => {
  const { clock, deadlines, expired, waiter } = setUp()
  const a = waiter('a', 30)
  const c = waiter('c', 70)
  const e = waiter('e', 110)
  for (const one of [a, waiter('b', 50), c, waiter('d', 90), e]) deadlines.add(one)
  for (const one of [a, c, e]) deadlines.remove(one)
  await clock.pass(49)
  t.strictSame(expired, [])
  await clock.pass(2)
  t.strictSame(expired, ['b'])
  await clock.pass(100)
  t.strictSame(expired, ['b', 'd'])

  deadlines.add(waiter('f', 10))
  await clock.pass(12)
  t.strictSame(expired, ['b', 'd', 'f'], 'the timer is started again')
})

t.test('a removed or expired waiter has no reference to another, which it would keep in memory', async t => {
  const { clock, deadlines, waiter } = setUp()
  const [first, second, third, fourth] = [waiter('a', 10), waiter('b', 20), waiter('c', 30), waiter('d', 40)]
  for (const one of [first, second, third, fourth]) deadlines.add(one)
  deadlines.remove(third)
  await clock.pass(12)
  for (const { previous, next } of [first, third]) t.strictSame([previous, next], [undefined, undefined])
  t.equal(second.next, fourth)
  deadlines.remove(fourth)
  t.equal(second.next, undefined)
})

t.test('one timer keeps the process alive while there are waiters', async t => {
  const { clock, deadlines, expired, waiter } = setUp()
  const first = waiter('first', 100)
  deadlines.add(first)
  t.equal(clock.timers, 1)
  deadlines.remove(first)
  t.equal(clock.timers, 0)
  deadlines.add(waiter('second', 150))
  const other = waiter('other', 160)
  deadlines.add(other)
  deadlines.remove(other)
  t.equal(clock.timers, 1, 'one of two still waits')
  await clock.pass(200)
  t.strictSame(expired, ['second'])
  t.equal(clock.timers, 0)
})

t.test('a waiter whose deadline has passed already expires soon, but not synchronously', async t => {
  const { clock, deadlines, expired, waiter } = setUp()
  deadlines.add(waiter('past', -1_000))
  t.strictSame(expired, [])
  await clock.pass(1)
  t.strictSame(expired, ['past'])
})

t.test('a waiter added while another expires does not start a second timer', async t => {
  const { clock, deadlines, expired, waiter } = setUp()
  const first = waiter('first', 10)
  first.expire = () => { deadlines.add(waiter('second', 10)) }
  deadlines.add(first)
  await clock.pass(11)
  t.equal(clock.timers, 1)
  await clock.pass(11)
  t.strictSame(expired, ['second'])
})
