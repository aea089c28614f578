import { once } from 'node:events'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import type { Configuration } from '../../src/service/configuration/configuration.js'
import { readTlsPair } from '../../src/service/configuration/tls.js'
import type { PlantStore } from '../../src/stores/store.js'
import { RawConnection } from '../support/http/raw-connection.js'
import { HEAD, serve } from '../support/http/service.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { startService, testFolder, token } from '../support/process/program.js'
import { until } from '../support/until.js'

t.jobs = 4

/** A create request. */
function create (id: number): string {
  const body = `{"id":${id},"name":"ivy"}`
  return [...HEAD, `Content-Length: ${body.length}`, '', body].join('\r\n')
}

/** A service on a store that records ids, and stores nothing until `release` is called. */
async function serveHolding (t: Test, configuration: Partial<Configuration> = {}) {
  const ids: bigint[] = []
  let release = (): void => {}
  const released = new Promise<void>(resolve => { release = resolve })
  const store: PlantStore = {
    async create ({ id }) {
      ids.push(id)
      await released
      return 'stored'
    }
  }
  const { app, port } = await serve(t, store, configuration)
  /** Whether the service is closed long before its shutdown would be forced. */
  const close = async () => Promise.race([app.close().then(() => true), sleep(9_000, false, { ref: false })])
  return { port, ids, release, close, executed: async (count: number) => until(() => ids.length >= count) }
}

t.test('during a shutdown, a request on an established connection is answered with Connection: close; ' +
  'new connections are refused', async t => {
  const { port, release, close, executed } = await serveHolding(t)
  const connections = await Promise.all([1, 2, 3].map(() => RawConnection.open(t, port)))
  const [pending, idle, other] = connections as [RawConnection, RawConnection, RawConnection]
  pending.write(create(1))
  idle.write('GET /health/ready HTTP/1.1', 'Host: a', '', '')
  t.match(await idle.answer(), { status: 200, headers: { connection: 'keep-alive' } })
  other.write('GET /health/live HTTP/1.1', 'Host: a', '', '')
  t.equal((await other.answer()).status, 200)
  await executed(1)
  const closed = close()
  await sleep(100)
  idle.write('GET /health/ready HTTP/1.1', 'Host: a', '', '')
  t.match(await idle.answer(), {
    status: 503,
    headers: { connection: 'close' },
    body: '{"error":50301,"message":"Not ready: the service is shutting down"}'
  })
  other.write('GET /%zz HTTP/1.1', 'Host: a', '', '')
  t.match(await other.answer(), { status: 404, headers: { connection: 'close' } }, 'a path that cannot be decoded')
  await t.rejects(RawConnection.open(t, port), { code: 'ECONNREFUSED' })
  release()
  t.match(await pending.answer(), { status: 200, headers: { connection: 'close' } })
  t.ok(await closed)
})

for (const scheme of ['http', 'https']) {
  t.test(`over ${scheme}, a shutdown waits for a slow store, and not for connections without a request`, async t => {
    const { cert, key, pem } = makeCertificate(testFolder(t), 'a')
    const configuration = scheme === 'https' ? { tls: readTlsPair(cert, key) } : {}
    const { port, release, close, executed } = await serveHolding(t, configuration)
    const connect = async () => {
      const client = scheme === 'https' ? tls.connect({ port, ca: pem }) : net.connect({ port })
      t.teardown(() => { client.destroy() })
      await once(client, scheme === 'https' ? 'secureConnect' : 'connect')
      return client
    }
    await Promise.all([connect(), RawConnection.open(t, port)])
    const client = await connect()
    client.write(create(1))
    const received = text(client)
    await executed(1)
    const closed = close()
    await sleep(1_500)
    release()
    t.match(await received, /^HTTP\/1\.1 200 [^]*connection: close/i)
    t.ok(await closed)
  })
}

t.test('a second signal exits immediately', async t => {
  const service = await startService(t)
  // The shutdown would wait for a request that never completes.
  const connection = await RawConnection.open(t, Number(new URL(service.address).port))
  const head = ['POST /plants HTTP/1.1', 'Host: h', `Authorization: Bearer ${token}`, 'Content-Type: application/json']
  connection.write(...head, 'Content-Length: 10', 'Expect: 100-continue', '', '')
  t.equal((await connection.answer()).status, 100, 'the service has received the request')
  service.child.kill('SIGTERM')
  await service.logged('SIGTERM: finishing pending requests')
  const start = performance.now()
  t.equal((await service.end('SIGTERM')).code, 1)
  t.ok(performance.now() - start < 4_000)
})

t.test('a client that goes on sending after its response does not make a shutdown fail', async t => {
  const service = await startService(t, { STORE_TIMEOUT: '500' })
  const connection = await RawConnection.open(t, Number(new URL(service.address).port))
  connection.write('POST /plants HTTP/1.1', 'Host: h', 'Content-Length: 1000', '', '')
  t.equal((await connection.answer()).status, 401)
  const sending = setInterval(() => connection.socket.write('x'), 100)
  t.teardown(() => clearInterval(sending))
  t.match(await service.end('SIGTERM'), { code: 0, stdout: /"stopped"/ })
})

t.test('KEEP_ALIVE_TIMEOUT closes an idle connection', async t => {
  const { port } = await serveHolding(t, { KEEP_ALIVE_TIMEOUT: 1_000 })
  const connection = await RawConnection.open(t, port)
  const answer = await connection.write('GET /health/live HTTP/1.1', 'Host: a', '', '').answer()
  t.match(answer, { status: 200, headers: { 'keep-alive': 'timeout=1' } })
  await connection.closed()
})
