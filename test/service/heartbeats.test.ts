import t from 'tap'
import { Heartbeats } from '../../src/service/cluster/heartbeats.js'

const checks = (heartbeats: Heartbeats<string>, count: number): string[] =>
  Array.from({ length: count }, () => heartbeats.check()).flat()

t.test('a worker that sends no heartbeat for 15 s is reported once', async t => {
  const heartbeats = new Heartbeats<string>()
  heartbeats.expect('a')
  t.strictSame(checks(heartbeats, 15), [])
  t.strictSame(checks(heartbeats, 1), ['a'])
  t.strictSame(checks(heartbeats, 30), [])
})

t.test('each heartbeat restarts the timer', async t => {
  const heartbeats = new Heartbeats<string>()
  heartbeats.expect('busy')
  heartbeats.expect('stopped')
  checks(heartbeats, 14)
  heartbeats.receive('busy')
  t.strictSame(checks(heartbeats, 15), ['stopped'])
  t.strictSame(checks(heartbeats, 1), ['busy'])
})

t.test('a worker that exited is not reported, and a late heartbeat of it changes nothing', async t => {
  const heartbeats = new Heartbeats<string>()
  heartbeats.expect('a')
  heartbeats.forget('a')
  heartbeats.receive('a')
  t.strictSame(checks(heartbeats, 20), [])
})
