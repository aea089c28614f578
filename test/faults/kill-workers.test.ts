import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { childrenOf, create, startService, token } from '../support/process/program.js'

/** Workers that were ready for a second are replaced without growing delays. */
const SETTLED_MS = 1_100

// Two of the tests spend their time waiting.
t.jobs = 3

t.test('60 workers killed under load: each request gets a 200 or a closed connection, and no connection is refused', { buffered: true, timeout: 240_000 }, async t => {
  const service = await startService(t, { WORKERS: '4' })
  const clients = [false, true].map(reconnect => new PlantClients(overHttp(service.address, token, { reconnect })))
  const stops = clients.map(client => client.start(16))
  const logged = (text: string) => service.log.filter(({ msg }) => String(msg).startsWith(text))
  const initial = childrenOf(service.pid).map(worker => ({ worker, time: Date.now() }))
  for (let killed = 0; killed < 60; killed++) {
    for (;;) {
      const replaced = logged('a worker was replaced').map(({ worker, time }) => ({ worker: Number(worker), time: Number(time) }))
      // The worker that has been ready for the longest, as long as another one is ready.
      const [oldest, another] = [...initial, ...replaced].slice(killed)
      if (oldest !== undefined && another !== undefined && Date.now() - oldest.time >= SETTLED_MS) {
        process.kill(oldest.worker, 'SIGKILL')
        break
      }
      await sleep(20)
    }
    while (logged('a worker exited').length === killed) await sleep(5)
  }
  await Promise.all(stops.map(stop => stop()))
  await service.end('SIGTERM')
  t.equal(logged('a worker exited').length, 60)
  for (const { counts } of clients) t.strictSame(Object.keys(counts), ['200', 'cut'])
})

t.test('a suspended worker is killed and replaced; until then the others serve', { buffered: true }, async t => {
  const service = await startService(t, { WORKERS: '2' })
  const [suspended] = childrenOf(service.pid) as [number]
  process.kill(suspended, 'SIGSTOP')
  const suspendedAt = performance.now()
  const responses = await Promise.all(Array.from({ length: 20 }, async () => create(service.address)))
  t.strictSame(responses.map(({ status }) => status), responses.map(() => 200))
  t.match(await service.logged('a worker does not respond'), { level: 50, worker: suspended })
  t.match(await service.logged('a worker exited'), { worker: suspended, reason: 'SIGKILL' })
  // As long as the client of the README waits.
  t.ok(performance.now() - suspendedAt < 15_000, 'its clients are disconnected before they give up')
  await service.logged('a worker was replaced')
  t.notOk(childrenOf(service.pid).includes(suspended))
  t.equal((await service.end('SIGTERM')).code, 0)
})

t.test('a service that was suspended as a whole keeps its workers, even if that exceeds the heartbeat timeout', { buffered: true }, async t => {
  const service = await startService(t, { WORKERS: '2' })
  const workers = childrenOf(service.pid)
  const all = [service.pid, ...workers]
  for (const pid of all) process.kill(pid, 'SIGSTOP')
  await sleep(17_000)
  for (const pid of all) process.kill(pid, 'SIGCONT')
  // Long enough for two checks.
  await sleep(2_500)
  t.strictSame(childrenOf(service.pid), workers)
  t.equal((await create(service.address)).status, 200)
  t.equal((await service.end('SIGTERM')).code, 0)
  t.notMatch(service.stdout, /a worker/)
})
