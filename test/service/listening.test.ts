import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { ConfigurationError, readConfiguration } from '../../src/service/configuration/configuration.js'
import { listenOn, removeStaleSocket } from '../../src/service/http/server.js'
import { lost, overHttp, PlantClients } from '../support/http/plant-clients.js'
import { exchange } from '../support/http/raw-connection.js'
import { closedPort } from '../support/process/lasting-port.js'
import { startService, testFolder, token } from '../support/process/program.js'
import { signalWhileLoading } from '../support/process/signal-while-loading.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'

t.test('a path in HOST is a socket, also for the first screen, the access log and the metrics; ' +
  'after SIGKILL under load no acknowledged plant is lost', async t => {
  const HOST = join(testFolder(t), "plant's store.sock")
  const port = String(await closedPort())
  // METRICS_PORT may equal PORT, which is not used.
  const killed = await startService(t, { HOST, PORT: port, METRICS_PORT: port, ACCESS_LOG: 'true' })
  t.equal(killed.address, `unix:${HOST}`)
  t.ok(statSync(HOST).isSocket())
  t.equal(statSync(HOST).mode & 0o777, 0o660, 'for owner and group')
  const line = /^ +(curl .*)$/m.exec(killed.stdout)?.[1] ?? ''
  const { stdout } = await promisify(execFile)('sh', ['-c', line.replace('<ACCESS_TOKEN>', token)])
  t.equal(stdout, '{"name":"Monstera deliciosa","tag":"aroid"}\n')
  t.match(await killed.logged('request'), { url: '/plants', statusCode: 200, remoteAddress: 'unix' })
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  t.match(metrics, /^plant_store_creates_total\{outcome="stored"\} 1$/m)

  const clients = new PlantClients(overHttp(killed.address, token), 100)
  const load = clients.load({ untilCut: true })
  await until(() => clients.acknowledged.length > 300)
  t.match(await killed.end('SIGKILL'), { code: null, signal: 'SIGKILL' })
  await load
  t.ok(statSync(HOST).isSocket(), 'it was left behind')

  // A supervisor may send SIGHUP early, which does not end the start.
  const preload = ['/service/serve.js', '/service/app.js'].flatMap(module => signalWhileLoading(module, 'SIGHUP'))
  const service = await startService(t, { HOST, DATA_DIR: killed.folder, NODE_ENV: 'production' }, { preload })
  t.notMatch(service.stdout, /curl/, 'in production there is no first screen')
  t.equal(statSync(HOST).mode & 0o777, 0o660, 'the socket is replaced')
  const stored = plantsInFile(join(killed.folder, 'plants.db'))
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
  for (const long of ['x'.repeat(100), 'é'.repeat(50)]) {
    const message = /^HOST is a path of \d+ bytes: it must be .* 103 bytes at most$/
    t.throws(() => readConfiguration({ HOST: join(folder, long) }), { message })
  }
  const noSocket = /^HOST is ".*file", which is a file .*: it must be a path that is not in use$/
  await t.rejects(removeStaleSocket(file), { constructor: ConfigurationError, message: noSocket })
  t.equal(readFileSync(file, 'utf8'), 'mine')

  const loop = join(folder, 'loop')
  symlinkSync(loop, loop)
  await removeStaleSocket(join(loop, 'socket'))
  await t.rejects(listenOn(createServer(), join(loop, 'socket'), 0), { code: 'ELOOP' }, 'the folder may exist')
})

/** The name plants.test has three addresses, of which this machine has two. */
const names = `
  import dns from 'node:dns'
  import { syncBuiltinESMExports } from 'node:module'
  const addresses = ['192.0.2.1', '127.0.0.1', '127.0.0.2', '127.0.0.1'].map(address => ({ address, family: 4 }))
  dns.lookup = (host, ...more) => { more.pop()(null, host === 'plants.test' ? '127.0.0.1' : host, 4) }
  dns.promises.lookup = async () => addresses
  syncBuiltinESMExports()`

t.test('a HOST with several addresses is listened to on each that the machine has, also for metrics, ' +
  'and SIGTERM under load cuts off no request', async t => {
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(names)}`]
  const service = await startService(t, { HOST: 'plants.test', METRICS_PORT: '0' }, { preload })
  const { port } = new URL(service.address)
  const { port: metricsPort } = await service.logged('metrics on port')
  const stops = ['127.0.0.1', '127.0.0.2'].map((host, index) => {
    const clients = new PlantClients(overHttp(`http://${host}:${port}`, token), (index + 1) * 1_000_000)
    return { clients, stop: clients.start(4) }
  })
  for (const host of ['127.0.0.1', '127.0.0.2']) {
    t.equal((await fetch(`http://${host}:${metricsPort}/metrics`)).status, 200, host)
    const { answers } = await exchange(Number(port), 'hello\r\n\r\n', { host })
    t.match(answers, [{ status: 400, body: /"error":40000/ }], host)
  }
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
