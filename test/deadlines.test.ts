import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Deadlines, type Waiter } from '../src/deadlines.js'

function waiter (expired: string[], name: string, ms: number): Waiter {
  return { deadline: performance.now() + ms, expire: () => { expired.push(name) }, previous: undefined, next: undefined }
}

t.test('each waiter expires once its deadline has passed, unless it was removed', async t => {
  const expired: string[] = []
  const deadlines = new Deadlines()
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((name, place) => waiter(expired, name, 30 + 20 * place)) as [Waiter, Waiter, Waiter, Waiter, Waiter]
  for (const one of [a, b, c, d, e]) deadlines.add(one)
  deadlines.remove(a)
  deadlines.remove(c)
  deadlines.remove(e)
  await sleep(40)
  t.strictSame(expired, [])
  await sleep(80)
  t.strictSame(expired, ['b', 'd'])

  deadlines.add(waiter(expired, 'f', 10))
  await sleep(30)
  t.strictSame(expired, ['b', 'd', 'f'], 'it begins anew')
})

t.test('it keeps a process alive only while someone waits', async t => {
  const deadlines = new Deadlines()
  const expired: string[] = []
  const resources = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = resources()
  const first = waiter(expired, 'first', 100)
  deadlines.add(first)
  t.equal(resources(), before + 1)
  deadlines.remove(first)
  t.equal(resources(), before)
  deadlines.add(waiter(expired, 'second', 50))
  const other = waiter(expired, 'other', 60)
  deadlines.add(other)
  deadlines.remove(other)
  t.equal(resources(), before + 1, 'one of two still waits, and there is one timer')
  await sleep(130)
  t.strictSame(expired, ['second'])
  t.equal(resources(), before)
})

t.test('a deadline that is past expires soon', async t => {
  const deadlines = new Deadlines()
  const expired: string[] = []
  deadlines.add(waiter(expired, 'past', -1_000))
  t.strictSame(expired, [])
  await sleep(20)
  t.strictSame(expired, ['past'])
})
