import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { faultLoggers } from '../../src/service/logger.js'
import { RawConnection } from '../support/http/raw-connection.js'
import { buildService, HEAD, serve } from '../support/http/service.js'
import { closedPort } from '../support/process/lasting-port.js'
import { bare, create, program, startService, testFolder, token } from '../support/process/program.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { lockSqlite } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { VirtualClock } from '../support/virtual-clock.js'

t.test('ACCESS_LOG writes one line for each request, without secrets, and loses none at shutdown; ' +
  'that of a 503 has its reason', async t => {
  const service = await startService(t, { ACCESS_LOG: 'true', STORE_TIMEOUT: '1000' })
  await fetch(`${service.address}/plants?access_token=${token}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"id":1,"name":"a name nobody may read"}'
  })
  await create(service.address, { bearer: 'another-access-token' })
  const lock = lockSqlite(join(service.folder, 'plants.db'))
  const refused = await create(service.address)
  lock.close()
  for (let i = 0; i < 50; i++) await create(service.address)
  t.equal((await service.end('SIGTERM')).code, 0)
  const lines = service.log.filter(({ msg }) => msg === 'request')
  t.equal(lines.length, 53)
  const fault = service.log.find(({ reqId, level }) => reqId === refused.headers.get('x-request-id') && level === 40)
  t.match(fault, { statusCode: 503, reason: 'SQLite: database is locked', err: undefined })
  const first = lines.find(({ statusCode }) => statusCode === 200)
  t.match(first, {
    level: 30, method: 'POST', url: '/plants', statusCode: 200, reqId: /^[\w-]{12}-\w+$/, remoteAddress: '127.0.0.1'
  })
  t.ok(Number(first?.responseTime) > 0)
  t.match(lines.find(({ statusCode }) => statusCode === 401), { level: 30 }, 'a refusal is not an error')
  t.notMatch(service.stdout, token)
  t.notMatch(service.stdout, 'nobody may read')
})

t.test('pipelined requests whose client leaves have a line each, without secrets of their targets', async t => {
  let settle = (): void => {}
  const settled = new Promise<'stored'>(resolve => { settle = () => resolve('stored') })
  let isPending = false
  const create = async (): Promise<'stored'> => {
    isPending = true
    return settled
  }
  const { port, log } = await serve(t, { create }, { ACCESS_LOG: true })
  const connection = await RawConnection.open(t, port)
  connection.write(...HEAD, 'Content-Length: 19', '', '{"id":1,"name":"x"}')
  for (const target of ['/nowhere#access_token=secret', 'http://user:secret@host/nowhere?secret', '/nowhere']) {
    connection.write(`GET ${target} HTTP/1.1`, 'Host: host', '', '')
  }
  await until(() => isPending)
  await sleep(50)
  connection.socket.destroy()
  await until(() => log.length === 4)
  settle()
  t.strictSame(log.map(line => JSON.parse(line).url), ['/plants', '/nowhere', 'http://host/nowhere', '/nowhere'])
})

t.test('a request whose client disconnects before the response has one line, without a status code', async t => {
  let settle = (): void => {}
  const settled = new Promise<'stored'>(resolve => { settle = () => resolve('stored') })
  const create = async (): Promise<'stored'> => {
    connection.socket.destroy()
    return settled
  }
  const { app, port, log } = await serve(t, { create }, { ACCESS_LOG: true })
  const connection = await RawConnection.open(t, port)
  connection.write(...HEAD, 'Content-Length: 19', '', '{"id":1,"name":"x"}')
  await until(() => log.length > 0)
  settle()
  await app.close()
  const line = {
    method: 'POST', url: '/plants', statusCode: undefined, responseTime: Number, remoteAddress: '127.0.0.1'
  }
  t.match(log.map(line => JSON.parse(line)), [line])
  t.equal(log.length, 1)
})

/** @param log where the service writes its log: a file, or a pipe without a reader at first */
async function startWithLog (t: Test, log: string | 'pipe', env: Record<string, string>) {
  const address = `http://127.0.0.1:${await closedPort()}`
  const variables = {
    PATH: process.env.PATH,
    PORT: new URL(address).port,
    ACCESS_TOKENS: token,
    DATA_DIR: testFolder(t),
    NODE_ENV: 'production',
    ...env
  }
  const child = spawn('env', bare(variables, [process.execPath, program]), {
    stdio: ['ignore', log === 'pipe' ? 'pipe' : openSync(log, 'a'), 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr?.on('data', text => { stderr += text })
  const isListening = () => fetch(address).then(() => true, () => false)
  for (let turn = 0; turn < 300 && !await isListening(); turn++) await sleep(100)
  return {
    address,
    stdout: child.stdout,
    stderr: () => stderr,
    async end () {
      child.kill('SIGTERM')
      const [code] = await once(child, 'close')
      return { code, stderr }
    }
  }
}

t.test('a log on a full disk stops neither the service nor its shutdown', async t => {
  const { address, end } = await startWithLog(t, '/dev/full', { ACCESS_LOG: 'true' })
  for (let turn = 0; turn < 3; turn++) t.equal((await create(address)).status, 200)
  const fault = 'ENOSPC: no space left on device, write'
  t.strictSame(await end(), {
    code: 0, stderr: `plant-store: the log cannot be written (${fault}), continuing without logs\n`
  })
})

t.test('a log without a reader does not block the service', async t => {
  const { address, stdout, stderr, end } = await startWithLog(t, 'pipe', { ACCESS_LOG: 'true' })
  // Together more than the megabyte that is buffered, and what a pipe holds.
  const long = 'x'.repeat(7_000)
  for (let turn = 0; turn < 200; turn++) await fetch(`${address}/${long}${turn}`)
  t.equal((await create(address)).status, 200)
  t.equal(stderr(), 'plant-store: the log cannot be written (the pipe is full), continuing without logs\n')

  let log = ''
  stdout?.setEncoding('utf8').on('data', text => { log += text })
  for (let turn = 0; turn < 400 && !log.includes('/drained'); turn++) {
    await fetch(`${address}/drained`)
    await sleep(50)
  }
  t.equal((await end()).code, 0)
  const lines = log.trim().split('\n').map(line => JSON.parse(line))
  t.match(lines.at(-1), { msg: 'stopped' })
})

t.test("Fastify's own warnings are logged", async t => {
  const { app, log } = await buildService(t, forgetfulStore())
  app.get('/twice', (_request, reply) => { reply.send('once').send('twice') })
  await app.inject('/twice')
  t.match(log.join(''), /Reply was already sent/)
})

t.test('of responses of 500 or more, at most 100 lines a second are written, then one has the count', async t => {
  const clock = new VirtualClock()
  const lines: { reqId?: string, msg: string, count?: number }[] = []
  const write = (line: string): void => { lines.push(JSON.parse(line)) }
  const { loggerFor, report } = faultLoggers(pino({}, { write }), clock)
  const fail = (times: number) => { for (let turn = 0; turn < times; turn++) loggerFor('id').warn('not stored') }
  fail(105)
  t.strictSame(lines.splice(0).map(({ msg }) => msg), Array(100).fill('not stored'))
  await clock.pass(1_000)
  t.match(lines.splice(0), [{ msg: /^5 more responses/, count: 5 }])
  fail(1)
  await clock.pass(1_000)
  t.match(
    lines.splice(0), [{ msg: 'not stored', reqId: 'id' }], 'nothing is said about a second in which all were written'
  )
  t.equal(clock.timers, 0, 'the process is not kept alive')
  fail(102)
  report()
  t.match(lines.at(-1), { count: 2 }, 'nothing is lost at exit')
})
