import { connect } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { shutdownTimeoutMs } from '../../src/service/shutdown/drain.js'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { startService, token } from '../support/process/program.js'

for (const WORKERS of ['1', '2']) {
  t.test(`SIGTERM under load cuts no request that was sent, with WORKERS=${WORKERS}`, async t => {
    const service = await startService(t, { WORKERS })
    const clients = new PlantClients(overHttp(service.address, token))
    const stop = clients.start(64)
    await new Promise(resolve => setTimeout(resolve, 300))
    const start = performance.now()
    service.child.kill('SIGTERM')
    const { code, stderr } = await service.ended
    const took = performance.now() - start
    await stop()
    t.equal(code, 0, stderr)
    t.ok(took < 10_000, `${Math.round(took)} ms`)
    t.strictSame(Object.keys(clients.counts), ['200', 'refused'], 'later connections are refused, and none is cut')
    t.match(service.log.at(-1), { msg: 'stopped' })
  })
}

t.test('a shutdown is forced 5 s after STORE_TIMEOUT, and after 25 s in any case', async t => {
  t.strictSame(
    [1, 10_000, 20_000, 20_001, 600_000].map(STORE_TIMEOUT => shutdownTimeoutMs({ STORE_TIMEOUT })),
    [5_001, 15_000, 25_000, 25_000, 25_000]
  )
})

t.test('during shutdown it is not ready, and says why', async t => {
  const service = await startService(t, {}, { counted: true })
  service.child.kill('SIGINT')
  await service.logged('SIGINT: finishing pending requests')
  const ready = await fetch(`${service.address}/health/ready`)
  t.equal(ready.status, 503)
  t.match(await ready.json(), { error: 50301, message: 'Not ready: the service is shutting down' })
  t.equal(ready.headers.get('connection'), 'close')
  t.equal((await service.ended).code, 0)
})

for (const WORKERS of ['1', '2']) {
  t.test(`a second signal exits at once, with WORKERS=${WORKERS}`, async t => {
    const service = await startService(t, { WORKERS })
    // The shutdown would wait for a request that never completes.
    const { hostname, port } = new URL(service.address)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.on('error', () => {})
    socket.write(`POST /plants HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n`)
    await new Promise(resolve => setTimeout(resolve, 100))
    service.child.kill('SIGTERM')
    await service.logged('SIGTERM: finishing pending requests')
    const start = performance.now()
    service.child.kill('SIGTERM')
    const { code } = await service.ended
    t.equal(code, 1)
    t.ok(performance.now() - start < 5_000)
    socket.destroy()
  })
}

t.test('an uncaught exception is logged, requests already received are answered, and the exit code is not 0', async t => {
  // Thrown half a second after SIGUSR1, with a create request pending.
  const source = 'process.on("SIGUSR1", () => { setTimeout(() => { throw new Error("made by the test") }, 100) })'
  const service = await startService(t, {}, { counted: true, preload: ['--import', `data:text/javascript,${encodeURIComponent(source)}`] })
  const clients = new PlantClients(overHttp(service.address, token))
  const stop = clients.start(8)
  service.child.kill('SIGUSR1')
  const { code } = await service.ended
  await stop()
  t.equal(code, 1)
  t.strictSame(Object.keys(clients.counts), ['200', 'refused'])
  t.match(await service.logged('shutting down after an uncaught error'), { level: 60, err: { message: 'made by the test' } })
})
