import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFile } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { create, launch, run, startService, testFolder, token } from '../support/process/program.js'
import { signalWhileLoading } from '../support/process/signal-while-loading.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'

t.jobs = 2

// SIGUSR1 blocks the event loop for 800 ms, the second one again and again until the next. SIGUSR2 throws.
const faults = `
  process.on("SIGUSR2", () => { setTimeout(() => { throw new Error("thrown by the test") }, 100) })
  let signals = 0
  process.on("SIGUSR1", () => {
    signals++
    const block = () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800)
      if (signals === 2) setTimeout(block, 5)
    }
    if (signals < 3) block()
  })`

t.test('without configuration the first screen shows how to send a request, and its curl command works; ' +
  'plants are refused while the event loop lags; after an uncaught exception requests are finished', async t => {
  const folder = t.testdir()
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(faults)}`]
  const service = launch(t, { DATA_DIR: folder }, { preload })
  const address = await service.ready()
  t.match(address, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
  const { stdout } = service
  t.ok(stdout.includes(`listens at  ${address}`))
  t.match(stdout, /stores in {3}SQLite, .*plants\.db/)
  t.equal(stdout.match(/^ {2}token {7}([\w-]{32}) /gm)?.length, 1, 'the token, once')
  const lines = stdout.match(/^ *curl .*$/gm) ?? []
  t.equal(lines.length, 1, 'the curl command, once')

  const { stdout: answer } = await promisify(execFile)('bash', ['-c', lines[0] as string])
  t.equal(answer, '{"name":"Monstera deliciosa","tag":"aroid"}\n', 'the prompt is left on a line of its own')
  t.strictSame(plantsInFile(join(folder, 'plants.db')), new Map([[1n, { name: 'Monstera deliciosa', tag: 'aroid' }]]))

  const ready = async () => fetch(`${address}/health/ready`)
  service.child.kill('SIGUSR1')
  t.equal((await ready()).status, 200, 'once, the machine may have been asleep')
  service.child.kill('SIGUSR1')
  for (let tries = 0; tries < 100 && (await ready()).ok; tries++);
  const bearer = /^ {2}token {7}(\S+)/m.exec(stdout)?.[1] ?? ''
  const live = fetch(`${address}/health/live`)
  const [refused, notReady] = await Promise.all([create(address, { bearer }), ready()])
  t.equal(refused.status, 503)
  t.match(await refused.json(), { error: 50301, message: /overloaded/ })
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  t.equal(notReady.status, 503)
  t.match(await notReady.json(), { error: 50301, message: 'Not ready: the service is overloaded' })
  t.equal((await live).status, 200)
  service.child.kill('SIGUSR1')
  for (let tries = 0; tries < 100 && !(await ready()).ok; tries++) await sleep(100)
  t.equal((await create(address, { bearer })).status, 200, 'plants are stored again once the event loop has recovered')

  const clients = new PlantClients(overHttp(address, bearer), 1_000)
  const stop = clients.start(8)
  await until(() => clients.acknowledged.length > 0)
  t.match(await service.end('SIGUSR2'), { code: 1, signal: null, stderr: '' })
  await stop()
  t.strictSame(clients.unanswered, ['refused'])
  t.match(await service.logged('shutting down after an uncaught error'), {
    level: 60, err: { message: 'thrown by the test' }
  })
})

t.test('a port in use is reported in one line', async t => {
  const other = createServer()
  await once(other.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { other.close() })
  const { port } = other.address() as AddressInfo
  const HOST = join(testFolder(t), 'socket')
  for (const where of [{ PORT: String(port) }, { HOST, METRICS_PORT: String(port) }]) {
    const { code, stderr } = await run([], { ...where, DATA_DIR: t.testdir(), ACCESS_TOKENS: token })
    t.equal(code, 1)
    t.match(stderr, new RegExp(`^plant-store: .*EADDRINUSE.*${port}: check HOST, PORT and METRICS_PORT\n$`))
  }
  t.notOk(existsSync(HOST), 'no socket is left')
})

t.test('SIGTERM is handled even while the program is loading: a process with PID 1 would ignore it', async t => {
  const preload = signalWhileLoading('/command-line.js', 'SIGTERM')
  const service = launch(t, { DATA_DIR: t.testdir(), ACCESS_TOKENS: token }, { preload })
  t.match(await service.ended, { code: 143, signal: null, stdout: '', stderr: '' })
  const loading = signalWhileLoading('/service/serve.js', 'SIGTERM')
  const stopped = launch(t, { DATA_DIR: t.testdir(), ACCESS_TOKENS: token }, { preload: loading })
  t.match(await stopped.ended, { code: 0, signal: null, stderr: '' }, 'a service was stopped, and did not fail')
})

t.test('a secret from a pipe is waited for, and a signal ends that; SIGHUP reads no pipe', async t => {
  const folder = testFolder(t)
  const pipe = join(folder, 'tokens')
  await promisify(execFile)('mkfifo', [pipe])
  const waiting = launch(t, { DATA_DIR: folder, ACCESS_TOKENS_FILE: pipe })
  await sleep(1_000)
  const { code, signal } = await waiting.end('SIGTERM')
  t.ok(signal === 'SIGTERM' || code === 0, 'on a slow machine it is still being loaded')
  writeFile(pipe, token, () => {})
  const service = await startService(t, { ACCESS_TOKENS_FILE: pipe })
  service.child.kill('SIGHUP')
  await service.logged('SIGHUP: nothing changed: ACCESS_TOKENS_FILE is not a file, and is read only at the start')
  t.equal((await create(service.address)).status, 200)
})

t.test('SIGTERM during startup is a clean stop', async t => {
  const preload = signalWhileLoading('/service/http/app.js', 'SIGTERM')
  const service = launch(t, { DATA_DIR: t.testdir(), ACCESS_TOKENS: token }, { preload })
  t.match(await service.ended, { code: 0, signal: null, stderr: '' })
  t.strictSame(service.log.map(({ msg }) => msg), ['SIGTERM: finishing pending requests, then exiting', 'stopped'])
})
