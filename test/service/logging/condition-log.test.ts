import { execFileSync } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { pino } from 'pino'
import { logConditions } from '../../../src/service/logging/condition-log.js'
import { needsProgram } from '../../support/process/needs.js'
import { startService } from '../../support/process/program.js'

t.test('the loss and the return of readiness are each logged once', async t => {
  const lines: string[] = []
  const answers = [undefined, 'the store is down', 'the store is down', undefined, undefined]
  const log = pino({}, { write: (line: string) => { lines.push(JSON.parse(line).msg) } })
  const stop = logConditions(async () => answers.shift(), log)
  t.teardown(stop)
  while (answers.length > 0) await new Promise(resolve => setTimeout(resolve, 100))
  await new Promise(resolve => setTimeout(resolve, 500))
  t.strictSame(lines, ['not ready: the store is down', 'ready again'])
})

t.test('running out of file descriptors is logged once', needsProgram('prlimit', 'util-linux'), async t => {
  const service = await startService(t)
  execFileSync('prlimit', ['--pid', String(service.pid), '--nofile=64:64'])
  const { port } = new URL(service.address)
  const sockets: Socket[] = []
  const connectMore = (): void => {
    for (let i = 0; i < 100; i++) sockets.push(connect(Number(port), '127.0.0.1').on('error', () => {}))
  }
  connectMore()
  // Again and again: libuv closes a spare descriptor to refuse a connection. If the service's own check takes it first,
  // libuv can't reopen it, and one descriptor stays free until the next connection.
  const timer = setInterval(connectMore, 5_000)
  t.teardown(() => clearInterval(timer))
  t.match(await service.logged('no file descriptors are left'), { level: 50 })
  clearInterval(timer)
  for (const socket of sockets) socket.destroy()
  await service.logged('file descriptors are available again')
  t.equal(service.log.filter(({ msg }) => String(msg).startsWith('no file descriptors')).length, 1)
})
