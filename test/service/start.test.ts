import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { create, launch, program, run, startService, testFolder, token } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { signalWhileLoading } from './signal-while-loading.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { serviceOnTerminal, withScript } from './on-terminal.js'

t.jobs = 2

/** SIGUSR2 throws, or rejects with, the value of an expression. */
function throwing (value: string, how = 'throw'): string[] {
  const fail = how === 'throw' ? `setTimeout(() => { throw ${value} }, 100)` : `Promise.reject(${value})`
  return ['--import', `data:text/javascript,${encodeURIComponent(`process.on("SIGUSR2", () => { ${fail} })`)}`]
}

t.test('without configuration, a terminal shows how to send a request, and its curl command works; ' +
  'each request is one line', withScript, async t => {
  const DATA_DIR = testFolder(t)
  const { shown } = await serviceOnTerminal(t, { DATA_DIR, ACCESS_LOG: 'true' })
  const address = /listens at {2}(http:\/\/127\.0\.0\.1:[1-9]\d*)\r$/m.exec(shown())?.[1] ?? ''
  t.match(shown(), `listening at ${address}`)
  t.match(shown(), /stores in {3}SQLite, .*plants\.db/)
  t.match(shown(), `API         ${address}/docs`)
  t.equal(shown().match(/^ {2}token {7}([\w-]{32}) /gm)?.length, 1, 'the token, once')
  const lines = shown().match(/^ *curl .*$/gm) ?? []
  t.equal(lines.length, 1, 'the curl command, once')

  const before = shown().length
  const { stdout: answer } = await promisify(execFile)('bash', ['-c', lines[0] as string])
  t.equal(answer, '{"name":"Monstera deliciosa","tag":"aroid"}\n', 'the prompt is left on a line of its own')
  t.strictSame(plantsInFile(join(DATA_DIR, 'plants.db')), new Map([[1n, { name: 'Monstera deliciosa', tag: 'aroid' }]]))
  for (let turn = 0; turn < 2; turn++) await fetch(`${address}/health/live`)
  await until(() => shown().slice(before).split('\n').length >= 4)
  const requests = shown().slice(before).trim().split('\n')
  t.equal(requests.length, 3)
  t.ok(requests.every(line => line.includes('"statusCode":200')))
})

t.test('without a terminal, nothing is printed for people; a generated token goes to standard error alone', async t => {
  const service = launch(t, { DATA_DIR: testFolder(t) })
  const address = await service.ready()
  t.strictSame(service.stdout.split('\n').filter(line => !line.startsWith('{')), [''], 'each line is JSON')
  const bearer = /^plant-store: .* ([\w-]{32});.*\n$/.exec(service.stderr)?.[1] ?? ''
  t.equal((await create(address, { bearer })).status, 200)
  t.notMatch(service.stdout, bearer)
  const configured = await startService(t)
  t.match(await configured.end('SIGTERM'), { code: 0, stderr: '' })
  t.notMatch(configured.stdout, token)
})

t.test('the service says when it listens, with its version, and then, once, when the store is ready', async t => {
  const mongo = await ScriptedMongo.start(t)
  await mongo.stop()
  const service = launch(t, { MONGODB_URL: mongo.urlOf('garden'), ACCESS_TOKENS: token })
  const { address, version, store } = await service.logged('listening at http://127.0.0.1:')
  t.match(await service.logged('not ready: '), { level: 40 })
  t.match(version, /^\d+\.\d+\.\d+$/)
  t.match(store, /^MongoDB, 127\.0\.0\.1:\d+, database garden$/)
  t.equal((await fetch(`${address}/health/live`)).status, 200)
  t.notMatch(service.stdout, 'ready at')
  await mongo.start()
  t.match(await service.logged('ready at'), { address, msg: `ready at ${address}` })
  await sleep(1_500)
  t.equal(service.log.filter(({ msg }) => /ready/.test(String(msg))).length, 2, 'each once')
})

t.test('after an uncaught error of any value pending requests are finished, and the exit code is 1', async t => {
  const service = await startService(t, {}, { preload: throwing('new Error("thrown by the test")') })
  const clients = new PlantClients(overHttp(service.address, token), 1_000)
  const stop = clients.start(8)
  await until(() => clients.acknowledged.length > 0)
  t.match(await service.end('SIGUSR2'), { code: 1, signal: null, stderr: '' })
  await stop()
  t.strictSame(clients.unanswered, ['refused'])
  t.match(await service.logged('shutting down after an uncaught error'), {
    level: 60, err: { message: 'thrown by the test' }
  })

  for (const [value, how] of [['null', 'throw'], ['0', 'throw'], ['undefined', 'reject']] as const) {
    const service = await startService(t, {}, { preload: throwing(value, how) })
    t.match(await service.end('SIGUSR2'), { code: 1, signal: null, stderr: '' }, `${how} ${value}`)
    t.match(service.log.at(-1), { msg: 'stopped' })
  }
})

t.test('a variable that is not read, but nearly has the name of one that is, is named in a warning', async t => {
  const service = await startService(t, { ACCESS_TOKEN: token, MONGODB_URI: 'mongodb://host', HOME: '/', PORTAL: 'x' })
  const warnings = service.log.filter(({ level }) => level === 40).map(({ msg }) => msg)
  t.strictSame(warnings, [
    'ACCESS_TOKEN is not read; did you mean ACCESS_TOKENS?', 'MONGODB_URI is not read; did you mean MONGODB_URL?'
  ])
  const refused = await run([], { NODE_ENV: 'production', TOKENS: token })
  t.match(refused, { code: 1, stderr: /^plant-store: ACCESS_TOKENS is not set; TOKENS is not read; .*\n$/ })
  const exported = await run(['export'], { DATA_DIR: service.folder, MONGO_URL: 'mongodb://host' })
  t.match(exported, { code: 0, stderr: /^plant-store: MONGO_URL is not read; did you mean MONGODB_URL\?\n/ })
})

t.test('the program can be loaded with require, as Passenger does', async t => {
  const folder = testFolder(t)
  const file = join(folder, 'start.cjs')
  writeFileSync(file, `require(${JSON.stringify(program)})`)
  const env = { DATA_DIR: folder, PORT: '0', ACCESS_TOKENS: token }
  const service = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], { env })
  t.teardown(() => service.kill('SIGKILL'))
  const closed = once(service, 'close')
  let log = ''
  service.stdout.on('data', text => { log += text })
  service.stderr.on('data', text => { log += text })
  await Promise.race([closed, until(() => log.includes('ready at'))])
  service.kill('SIGTERM')
  t.strictSame(await closed, [0, null], log)
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

t.test('SIGTERM during startup is a clean stop', async t => {
  const preload = signalWhileLoading('/service/http/app.js', 'SIGTERM')
  const service = launch(t, { DATA_DIR: t.testdir(), ACCESS_TOKENS: token }, { preload })
  t.match(await service.ended, { code: 0, signal: null, stderr: '' })
  t.strictSame(service.log.map(({ msg }) => msg), ['SIGTERM: finishing pending requests, then exiting', 'stopped'])
})

t.test('a service that is being stopped when its store becomes ready does not say so', async t => {
  let answer = () => {}
  const answered = new Promise<void>(resolve => { answer = resolve })
  const mongo = (await ScriptedMongo.start(t)).on('ping', async (_context, execute) => {
    await answered
    return execute()
  })
  const service = launch(t, { MONGODB_URL: mongo.url, ACCESS_TOKENS: token })
  const { address } = await service.logged('listening at')
  // Its connection keeps the service from ending at once.
  await fetch(`${address}/health/live`)
  const ended = service.end('SIGTERM')
  await service.logged('finishing pending requests')
  answer()
  t.match(await ended, { code: 0, signal: null, stderr: '' })
  t.strictSame(service.log.map(({ msg }) => msg), [
    `listening at ${address}`, 'SIGTERM: finishing pending requests, then exiting', 'stopped'
  ])
})
