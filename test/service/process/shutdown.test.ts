import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { shutdownTimeoutMs } from '../../../src/service/http/drain.js'
import { lost, overHttp, PlantClients } from '../../support/http/plant-clients.js'
import { RawConnection } from '../../support/http/raw-connection.js'
import { heldStart } from '../../support/process/held-start.js'
import { closedPort } from '../../support/process/lasting-port.js'
import { childrenOf, launch, startService, testFolder, token } from '../../support/process/program.js'
import { plantsInFile } from '../../support/stores/sqlite-file.js'

for (const WORKERS of ['1', '2']) {
  t.test(`SIGTERM under load cuts off no request, with WORKERS=${WORKERS}`, async t => {
    const service = await startService(t, { WORKERS })
    const clients = new PlantClients(overHttp(service.address, token))
    const stop = clients.start(64)
    while (clients.acknowledged.length < 200) await sleep(5)
    const start = performance.now()
    service.child.kill('SIGTERM')
    const { code, stderr } = await service.ended
    const took = performance.now() - start
    await stop()
    t.equal(code, 0, stderr)
    t.ok(took < 10_000, `${Math.round(took)} ms`)
    t.strictSame(Object.keys(clients.counts), ['200', 'refused'], 'later connections are refused, and none is cut off')
    t.strictSame(lost(clients.sent, plantsInFile(join(service.folder, 'plants.db'))), [])
    t.match(service.log.at(-1), { msg: 'stopped' })
  })
}

t.test('a shutdown is forced 5 s after STORE_TIMEOUT, and after 25 s in any case', async t => {
  t.strictSame(
    [1, 10_000, 20_000, 20_001, 600_000].map(STORE_TIMEOUT => shutdownTimeoutMs({ STORE_TIMEOUT })),
    [5_001, 15_000, 25_000, 25_000, 25_000]
  )
})

t.test('during shutdown the service is not ready, and says why', async t => {
  const service = await startService(t, {}, { counted: true })
  service.child.kill('SIGINT')
  let ready = await fetch(`${service.address}/health/ready`)
  while (ready.ok) ready = await fetch(`${service.address}/health/ready`)
  t.equal(ready.status, 503)
  t.match(await ready.json(), { error: 50301, message: 'Not ready: the service is shutting down' })
  t.equal(ready.headers.get('connection'), 'close')
  t.equal((await service.ended).code, 0)
})

for (const WORKERS of ['1', '2']) {
  t.test(`a second signal exits immediately, with WORKERS=${WORKERS}`, async t => {
    const service = await startService(t, { WORKERS })
    // The shutdown would wait for a request that never completes.
    const connection = await RawConnection.open(t, Number(new URL(service.address).port))
    connection.write('POST /plants HTTP/1.1', 'Host: h', `Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Content-Length: 10', 'Expect: 100-continue', '', '')
    t.equal((await connection.answer()).status, 100, 'the service has received the request')
    service.child.kill('SIGTERM')
    await service.logged('SIGTERM: finishing pending requests')
    const start = performance.now()
    service.child.kill('SIGTERM')
    const { code } = await service.ended
    t.equal(code, 1)
    t.ok(performance.now() - start < 10_000)
  })
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal} while a worker is starting is a clean stop, and cuts off no request to another one`, async t => {
    for (const module of ['/cluster/worker.js', '/service/app.js']) {
      const folder = testFolder(t)
      const start = heldStart(folder, module)
      const port = await closedPort()
      start.hold()
      const service = launch(t, { PORT: String(port), DATA_DIR: folder, ACCESS_TOKENS: token, WORKERS: '2' }, start)
      await start.isHeld()
      const open = async (): Promise<RawConnection> =>
        RawConnection.open(t, port).catch(async () => sleep(20).then(open))
      const connection = await open()
      connection.write('POST /plants HTTP/1.1', 'Host: h', `Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Content-Length: 19', 'Expect: 100-continue', '', '')
      t.equal((await connection.answer()).status, 100, 'a worker has received the request')
      // A terminal sends SIGINT to all processes.
      for (const pid of signal === 'SIGINT' ? childrenOf(service.pid) : []) process.kill(pid, signal)
      service.child.kill(signal)
      await service.logged(`${signal}: finishing pending requests`)
      start.release()
      connection.write('{"id":1,"name":"x"}')
      t.equal((await connection.answer()).status, 200)
      t.match(await service.ended, { code: 0, stderr: '' })
      t.match(service.log.at(-1), { msg: 'stopped' })
      t.notMatch(service.stdout, 'ready at')
    }
  })
}

t.test('after an uncaught exception it is logged, pending requests are finished, and the exit code is 1', async t => {
  // Thrown soon after SIGUSR1, with create requests pending.
  const source = 'process.on("SIGUSR1", () => { setTimeout(() => { throw new Error("thrown by the test") }, 100) })'
  const service = await startService(t, {}, { counted: true, preload: ['--import', `data:text/javascript,${encodeURIComponent(source)}`] })
  const clients = new PlantClients(overHttp(service.address, token))
  const stop = clients.start(8)
  while (clients.acknowledged.length === 0) await sleep(5)
  service.child.kill('SIGUSR1')
  const { code } = await service.ended
  await stop()
  t.equal(code, 1)
  t.strictSame(Object.keys(clients.counts), ['200', 'refused'])
  t.match(await service.logged('shutting down after an uncaught error'), { level: 60, err: { message: 'thrown by the test' } })
})
