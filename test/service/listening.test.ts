import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import { promisify } from 'node:util'
import t from 'tap'
import { ConfigurationError } from '../../src/service/configuration/configuration.js'
import { readTlsPair } from '../../src/service/configuration/tls.js'
import { listen, removeStaleSocket } from '../../src/service/http/server.js'
import { lost, overHttp, PlantClients } from '../support/http/plant-clients.js'
import { exchange } from '../support/http/raw-connection.js'
import { buildService } from '../support/http/service.js'
import { closedPort } from '../support/process/lasting-port.js'
import { certificateFiles, makeCertificate } from '../support/process/make-certificate.js'
import { run, startService, testFolder, token } from '../support/process/program.js'
import { signalWhileLoading } from './signal-while-loading.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { serviceOnTerminal, withScript } from './on-terminal.js'

t.test('a path in HOST is a socket, also for the access log, the metrics and what a terminal shows; ' +
  'after SIGKILL under load no acknowledged plant is lost', withScript, async t => {
  const HOST = join(testFolder(t), "plant's store.sock")
  const DATA_DIR = testFolder(t)
  const port = String(await closedPort())
  // METRICS_PORT may equal PORT, which is not used.
  const env = { HOST, DATA_DIR, PORT: port, METRICS_PORT: port, ACCESS_LOG: 'true', ACCESS_TOKENS: token }
  const { shown, pid } = await serviceOnTerminal(t, env)
  t.ok(statSync(HOST).isSocket())
  t.equal(statSync(HOST).mode & 0o777, 0o660, 'for owner and group')
  t.match(shown(), `listens at  unix:${HOST}`)
  t.notMatch(shown(), /http:\/\/localhost\/(?:docs|openapi)/, 'an address that nobody serves')
  const line = /^ +(curl .*?)\r?$/m.exec(shown())?.[1] ?? ''
  const { stdout } = await promisify(execFile)('sh', ['-c', line.replace('<ACCESS_TOKEN>', token)])
  t.equal(stdout, '{"name":"Monstera deliciosa","tag":"aroid"}\n')
  await until(() => /request.*"url":"\/plants","statusCode":200,.*"remoteAddress":"unix"/.test(shown()))
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  t.match(metrics, /^plant_store_creates_total\{outcome="stored"\} 1$/m)

  const clients = new PlantClients(overHttp(`unix:${HOST}`, token), 100)
  const load = clients.load({ untilCut: true })
  await until(() => clients.acknowledged.length > 300)
  process.kill(pid, 'SIGKILL')
  await load
  t.ok(statSync(HOST).isSocket(), 'it was left behind')

  // A supervisor may send SIGHUP early, which does not end the start.
  const preload = ['/service/serve.js', '/http/app.js'].flatMap(module => signalWhileLoading(module, 'SIGHUP'))
  const service = await startService(t, { HOST, DATA_DIR, NODE_ENV: 'production' }, { preload })
  t.equal(service.address, `unix:${HOST}`)
  t.equal(statSync(HOST).mode & 0o777, 0o660, 'the socket is replaced')
  const stored = plantsInFile(join(DATA_DIR, 'plants.db'))
  t.strictSame(lost(clients.sent, stored), [], `${clients.acknowledged.length} acknowledged`)
  const retry = await overHttp(service.address, token)({ id: 100, name: 'plant 100' })
  t.equal(retry.status, 200, 'a retry of an acknowledged plant')
  const inUse = /^HOST is ".*plant's store\.sock", which is .* socket: it must be a path that is not in use$/
  await t.rejects(removeStaleSocket(HOST), { constructor: ConfigurationError, message: inUse })
  t.match(await service.end('SIGINT'), { code: 0, signal: null })
  t.notOk(existsSync(HOST), 'it is removed at a shutdown')
})

t.test('a path that cannot be a socket fails startup, and the file is not changed', async t => {
  const folder = testFolder(t)
  const file = join(folder, 'file')
  writeFileSync(file, 'mine')
  const noSocket = /^HOST is ".*file", which is a file .*: it must be a path that is not in use$/
  await t.rejects(removeStaleSocket(file), { constructor: ConfigurationError, message: noSocket })
  t.equal(readFileSync(file, 'utf8'), 'mine')

  const loop = join(folder, 'loop')
  symlinkSync(loop, loop)
  const { code, stderr } = await run([], { HOST: join(loop, 'socket'), DATA_DIR: folder, ACCESS_TOKENS: token })
  t.equal(code, 1)
  t.match(stderr, /^plant-store: .*ELOOP.*: check HOST, PORT and METRICS_PORT\n$/)
})

/** localhost has two addresses. */
const names = `
  import dns from 'node:dns'
  const addresses = ['127.0.0.1', '127.0.0.2'].map(address => ({ address, family: 4 }))
  const lookup = dns.lookup
  dns.lookup = (host, ...others) => {
    if (host !== 'localhost') return lookup(host, ...others)
    process.nextTick(others.at(-1), null, ...(others[0].all ? [addresses] : ['127.0.0.1', 4]))
  }`

t.test('localhost is listened to on each of its addresses, and SIGTERM under load cuts off no request', async t => {
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(names)}`]
  const folder = testFolder(t)
  const { use, ...files } = certificateFiles(folder)
  use(makeCertificate(folder, 'first'))
  const overTls = await startService(t, { HOST: 'localhost', ...files }, { preload })
  const second = makeCertificate(folder, 'second')
  use(second)
  overTls.child.kill('SIGHUP')
  await overTls.logged('SIGHUP: certificate reloaded')
  const { port: tlsPort } = new URL(overTls.address)
  for (const host of ['127.0.0.1', '127.0.0.2']) {
    const socket = tls.connect({ host, port: Number(tlsPort), ca: second.pem, servername: 'localhost' })
    await once(socket, 'secureConnect')
    socket.destroy()
  }

  const service = await startService(t, { HOST: 'localhost' }, { preload })
  const { port } = new URL(service.address)
  const stops = ['127.0.0.1', '127.0.0.2'].map((host, index) => {
    const clients = new PlantClients(overHttp(`http://${host}:${port}`, token), (index + 1) * 1_000_000)
    return { clients, stop: clients.start(4) }
  })
  const { answers } = await exchange(Number(port), 'hello\r\n\r\n', { host: '127.0.0.2' })
  t.match(answers, [{ status: 400, body: /"error":40000/ }])
  await until(() => stops.every(({ clients }) => clients.acknowledged.length > 50))
  const start = performance.now()
  t.match(await service.end('SIGTERM'), { code: 0, stderr: '' })
  t.ok(performance.now() - start < 10_000)
  t.match(service.log.at(-1), { msg: 'stopped' })
  for (const { clients, stop } of stops) {
    await stop()
    t.strictSame(clients.unanswered, ['refused'])
    t.strictSame(lost(clients.sent, plantsInFile(join(service.folder, 'plants.db'))), [])
  }
})

t.test('a connection on which nothing was sent is closed without a response and without a line', async t => {
  const HOST = join(testFolder(t), 'idle.sock')
  const { cert, key } = makeCertificate(testFolder(t), 'localhost')
  for (const scheme of ['http', 'https', 'unix']) {
    const configuration = { ACCESS_LOG: true, ...(scheme === 'https' && { tls: readTlsPair(cert, key) }) }
    const { app, log } = await buildService(t, forgetfulStore(), configuration)
    await listen(app, scheme === 'unix' ? HOST : '127.0.0.1', 0)
    t.equal(app.server.headersTimeout, 10_000)
    app.server.headersTimeout = 500
    const { port } = app.server.address() as AddressInfo
    const connect = () => {
      if (scheme === 'unix') return net.connect(HOST)
      return scheme === 'http' ? net.connect(port) : tls.connect({ port, rejectUnauthorized: false })
    }
    const [idle, slow] = [connect(), connect()]
    if (scheme === 'https') await once(slow, 'secureConnect')
    slow.write('GET /health/live HTTP/1.1\r\n')
    t.equal(await text(idle), '', scheme)
    t.match(await text(slow), /^HTTP\/1\.1 408 [^]*"error":40801/, `${scheme}: a request that was begun has a response`)
    t.match(log.map(line => JSON.parse(line)), [{ msg: 'request', statusCode: 408 }])
  }
})
