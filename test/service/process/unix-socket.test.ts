import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { readConfiguration } from '../../../src/config/configuration.js'
import { removeStaleSocket } from '../../../src/service/http/unix-socket.js'
import { overHttp, PlantClients } from '../../support/http/plant-clients.js'
import { closedPort } from '../../support/process/lasting-port.js'
import { run, startService, testFolder, token } from '../../support/process/program.js'
import { until } from '../../support/until.js'

t.test('a path in HOST is a socket for owner and group, which the first screen, the access log and the metrics know', async t => {
  const HOST = join(testFolder(t), 'plant store.sock')
  const port = String(await closedPort())
  // METRICS_PORT may equal PORT, which is not used.
  const service = await startService(t, { HOST, PORT: port, METRICS_PORT: port, ACCESS_LOG: 'true' }, { counted: true })
  t.equal(service.address, `unix:${HOST}`)
  t.ok(statSync(HOST).isSocket())
  t.equal(statSync(HOST).mode & 0o777, 0o660)
  const line = /^ +(curl .*)$/m.exec(service.stdout)?.[1] ?? ''
  const { stdout } = await promisify(execFile)('sh', ['-c', line.replace('<ACCESS_TOKEN>', token)])
  t.equal(stdout, '{"name":"Monstera deliciosa","tag":"aroid"}')
  t.match(await service.logged('request'), { url: '/plants', statusCode: 200, remoteAddress: 'unix' })
  t.match(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(), /^plant_store_creates_total\{outcome="stored"\} 1$/m)
})

t.test('at a shutdown the socket is removed, and no request is cut off', async t => {
  const HOST = join(testFolder(t), 'plant-store.sock')
  const service = await startService(t, { HOST })
  const clients = new PlantClients(overHttp(service.address, token), 100)
  const stop = clients.start(16)
  await until(() => clients.acknowledged.length > 100)
  t.equal((await service.end('SIGTERM')).code, 0)
  await stop()
  t.strictSame(Object.keys(clients.counts), ['200', 'refused'])
  t.notOk(existsSync(HOST))
})

t.test('the socket of a killed service is replaced, but not that of a running one', async t => {
  const HOST = join(testFolder(t), 'plant-store.sock')
  const killed = await startService(t, { HOST })
  await killed.end('SIGKILL')
  t.ok(statSync(HOST).isSocket(), 'it was left behind')
  const service = await startService(t, { HOST, DATA_DIR: killed.folder })
  t.equal(statSync(HOST).mode & 0o777, 0o660)

  const { code, stderr } = await run([], { HOST, DATA_DIR: killed.folder, ACCESS_TOKENS: token })
  t.equal(code, 1)
  t.match(stderr, /^plant-store: HOST is ".*plant-store\.sock", which another process listens on: it must be .*\n$/)
  t.strictSame(await overHttp(service.address, token, { reconnect: true })({ id: 1, name: 'Monstera' }), { status: 200 })
})

t.test('a path that cannot be a socket fails startup, and the file is not changed', async t => {
  const folder = testFolder(t)
  const file = join(folder, 'file')
  writeFileSync(file, 'mine')
  t.throws(() => readConfiguration({ HOST: join(folder, 'x'.repeat(100)) }), { message: /^HOST is a path of \d+ bytes: the path of a Unix socket must have 103 bytes or fewer$/ })
  await t.rejects(removeStaleSocket(join(folder, 'no', 'socket')), { message: /^HOST is ".*no\/socket", whose folder does not exist: it must be .*$/ })
  const loop = join(folder, 'loop')
  symlinkSync(loop, loop)
  const env = { DATA_DIR: folder, ACCESS_TOKENS: token }
  const [isFile, isLoop] = await Promise.all([run([], { HOST: file, ...env }), run([], { HOST: join(loop, 'socket'), ...env }, { counted: true })])
  t.match(isFile, { code: 1, stderr: /^plant-store: HOST is ".*file", which is a file that is not a socket: .*\n$/ })
  t.equal(readFileSync(file, 'utf8'), 'mine')
  t.match(isLoop, { code: 1, stderr: /^plant-store: listen ELOOP.*loop\/socket: check HOST, PORT and METRICS_PORT\n$/ }, 'the folder may exist')
})
