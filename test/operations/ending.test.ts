import { connect } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { closedLoopClients } from './closed-loop-clients.js'
import { create, run, startService, token } from '../program.js'

for (const WORKERS of ['1', '2']) {
  t.test(`SIGTERM under load cuts no request that was sent, with WORKERS=${WORKERS}`, async t => {
    const service = await startService(t, { WORKERS })
    const stop = closedLoopClients(service.address, 64, token)
    await new Promise(resolve => setTimeout(resolve, 300))
    const start = performance.now()
    service.child.kill('SIGTERM')
    const { code, stderr } = await service.ended
    const took = performance.now() - start
    const { answers, cut, refused } = await stop()
    t.equal(code, 0, stderr)
    t.ok(took < 5_000, `${Math.round(took)} ms`)
    // With workers the first process takes the connections; until it hears that the last worker has closed, it may take one
    // more, of a client that was held up. On a machine with eight times the work it can do, that was seen in 1 end of 40.
    t.ok(cut.length <= (WORKERS === '1' ? 0 : 1), `${cut.length} cut`)
    t.same([...answers.keys()], [200])
    t.ok(refused > 0, 'what came later was refused')
    t.match(service.log.at(-1), { msg: 'ended' })
  })
}

t.test('while it ends, it is not ready, and says why', async t => {
  const service = await startService(t, {}, { counted: true })
  service.child.kill('SIGINT')
  await service.logged('SIGINT: answers what has come')
  const ready = await fetch(`${service.address}/health/ready`)
  t.equal(ready.status, 503)
  t.match(await ready.json(), { error: 50301, message: 'Not ready: the service is shutting down' })
  t.equal(ready.headers.get('connection'), 'close')
  t.equal((await service.ended).code, 0)
})

for (const WORKERS of ['1', '2']) {
  t.test(`a second signal ends at once, with WORKERS=${WORKERS}`, async t => {
    const service = await startService(t, { WORKERS })
    // A request that never comes to its end would be waited for.
    const { hostname, port } = new URL(service.address)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.on('error', () => {})
    socket.write(`POST /plants HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n`)
    await new Promise(resolve => setTimeout(resolve, 100))
    service.child.kill('SIGTERM')
    await service.logged('SIGTERM: answers what has come')
    const start = performance.now()
    service.child.kill('SIGTERM')
    const { code } = await service.ended
    t.equal(code, 1)
    t.ok(performance.now() - start < 500)
    socket.destroy()
  })
}

t.test('a fault that nothing catches is logged, what has come is answered, and the exit code says so', async t => {
  // Thrown half a second after SIGUSR1, with a create on its way.
  const source = 'process.on("SIGUSR1", () => { setTimeout(() => { throw new Error("made by the test") }, 100) })'
  const service = await startService(t, {}, { counted: true, preload: ['--import', `data:text/javascript,${encodeURIComponent(source)}`] })
  const stop = closedLoopClients(service.address, 8, token)
  service.child.kill('SIGUSR1')
  const { code } = await service.ended
  const { cut, answers } = await stop()
  t.equal(code, 1)
  t.same(cut, [])
  t.same([...answers.keys()], [200])
  t.match(await service.logged('ends after a fault'), { level: 60, err: { message: 'made by the test' } })
})

t.test('a port that is taken is told in one line', async t => {
  const first = await startService(t)
  const { port } = new URL(first.address)
  for (const WORKERS of ['1', '2']) {
    const { code, stderr } = await run([], { PORT: port, DATA_DIR: first.folder, ACCESS_TOKENS: token, WORKERS }, { counted: true })
    t.equal(code, 1)
    t.match(stderr, new RegExp(`^plant-store: .*EADDRINUSE.*${port}\n$`))
  }
  t.equal((await create(first.address)).status, 200)
})
