import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { RawConnection } from '../support/http/raw-connection.js'
import { buildService, HEAD, serve } from '../support/http/service.js'
import { closedPort } from '../support/process/lasting-port.js'
import { create, launch, program, startService, testFolder, token } from '../support/process/program.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { lockSqlite } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'

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

t.test('a line has no secrets of its request target', async t => {
  const { port, log } = await serve(t, forgetfulStore(), { ACCESS_LOG: true })
  const connection = await RawConnection.open(t, port)
  for (const target of ['/nowhere#access_token=secret', 'http://user:secret@host/nowhere?secret', '/nowhere']) {
    await connection.write(`GET ${target} HTTP/1.1`, 'Host: host', '', '').answer()
  }
  await until(() => log.length === 3)
  t.strictSame(log.map(line => JSON.parse(line).url), ['/nowhere', 'http://host/nowhere', '/nowhere'])
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

t.test('a log on a full disk stops neither the service nor its shutdown', async t => {
  const port = String(await closedPort())
  const env = { PORT: port, ACCESS_TOKENS: token, DATA_DIR: testFolder(t), ACCESS_LOG: 'true' }
  const service = spawn(process.execPath, [program], { env, stdio: ['ignore', openSync('/dev/full', 'a'), 'pipe'] })
  t.teardown(() => service.kill('SIGKILL'))
  const ended = Promise.all([text(service.stderr as Readable), once(service, 'close')])
  const address = `http://127.0.0.1:${port}`
  while (!await fetch(address).then(() => true, () => false)) await sleep(50)
  for (let turn = 0; turn < 3; turn++) t.equal((await create(address)).status, 200)
  service.kill('SIGTERM')
  const fault = 'ENOSPC: no space left on device, write'
  const warning = `plant-store: the log cannot be written (${fault}), continuing without logs\n`
  t.strictSame(await ended, [warning, [0, null]])
})

t.test('lines go to a `write` of process.stdout that something has replaced, as PM2 does in cluster mode', async t => {
  const file = join(testFolder(t), 'log')
  const replace = `import { appendFileSync } from 'node:fs'
    process.stdout.write = (chunk, encoding, done) => { appendFileSync(${JSON.stringify(file)}, chunk); return true }`
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(replace)}`]
  const service = launch(t, { DATA_DIR: testFolder(t), ACCESS_TOKENS: token, ACCESS_LOG: 'true' }, { preload })
  const lines = () => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    return text.split('\n').filter(line => line !== '').map(line => JSON.parse(line))
  }
  await until(() => lines().some(({ msg }) => msg.startsWith('ready at')))
  await fetch(lines()[0].address)
  t.match(await service.end('SIGTERM'), { code: 0, stdout: '' })
  t.strictSame(lines().slice(-3).map(({ msg }) => msg), [
    'request', 'SIGTERM: finishing pending requests, then exiting', 'stopped'
  ])
})

t.test("Fastify's own warnings are logged", async t => {
  const { app, log } = await buildService(t, forgetfulStore())
  app.get('/twice', (_request, reply) => { reply.send('once').send('twice') })
  await app.inject('/twice')
  t.match(log.join(''), /Reply was already sent/)
})
