import { once } from 'node:events'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { Configuration } from '../../src/service/config/configuration.js'
import { readTlsPair } from '../../src/service/config/tls-pair.js'
import { drain } from '../../src/service/http/drain.js'
import type { PlantStore } from '../../src/stores/plant-store.js'
import { RawConnection } from '../support/http/raw-connection.js'
import { HEAD, serve } from '../support/http/service.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { testFolder } from '../support/process/program.js'

t.jobs = 4

/** A create request; the name makes it longer. */
function create (id: number, name = 'ivy'): string {
  const body = JSON.stringify({ id, name })
  return [...HEAD, `Content-Length: ${body.length}`, '', body].join('\r\n')
}

/**
 * A service with a connection on which nothing is sent, on a store that records ids, and stores nothing until `release`
 * is called.
 */
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
  await RawConnection.open(t, port)
  const executed = async (count: number): Promise<void> => {
    while (ids.length < count) await sleep(5)
  }
  return { app, port, ids, release, executed }
}

/** Whether the server is closed long before a shutdown is forced. */
async function isDrained ({ server }: FastifyInstance): Promise<boolean> {
  return await Promise.race([drain([server]).then(() => true), sleep(5_000, false, { ref: false })])
}

t.test('during shutdown the first response closes its connection: a request pipelined behind it is not executed', async t => {
  const { app, port, ids, release } = await serveHolding(t)
  release()
  const connection = await RawConnection.open(t, port)
  const drained = isDrained(app)
  connection.write(create(1) + create(2) + create(3))
  t.match(await connection.answer(), { status: 200, headers: { connection: 'close' } })
  await connection.closed()
  t.strictSame(connection.answers, [])
  t.ok(await drained)
  t.strictSame(ids, [1n])
})

t.test('a client that sends a long pipelined request before it reads gets the response to the first', async t => {
  const { app, port, ids, release } = await serveHolding(t)
  release()
  const connection = await RawConnection.open(t, port)
  const drained = isDrained(app)
  connection.socket.pause()
  await new Promise<void>(resolve => { connection.socket.write(create(1) + create(2, 'x'.repeat(5_000_000)), () => resolve()) })
  connection.socket.resume()
  t.equal((await connection.answer()).status, 200)
  t.ok(await drained)
  t.strictSame(ids, [1n])
})

t.test('a request that is pending when the shutdown begins gets its response, and so does the next on its connection', async t => {
  const { app, port, ids, release, executed } = await serveHolding(t)
  const connection = await RawConnection.open(t, port)
  connection.write(create(1))
  await executed(1)
  const drained = isDrained(app)
  connection.write(create(2) + create(3))
  await executed(2)
  release()
  t.match(await connection.answer(), { status: 200, body: '{"name":"ivy"}' })
  t.match(await connection.answer(), { status: 200, headers: { connection: 'close' } })
  await connection.closed()
  t.strictSame(connection.answers, [])
  t.ok(await drained)
  t.strictSame(ids, [1n, 2n])
})

for (const scheme of ['http', 'https']) {
  t.test(`a slow store: requests that are pending when the shutdown begins get their responses, over ${scheme}`, async t => {
    const { cert, key, pem } = makeCertificate(testFolder(t), 'a')
    const { app, port, release, executed } = await serveHolding(t, scheme === 'https' ? { tls: readTlsPair(cert, key) } : {})
    const client = scheme === 'https' ? tls.connect({ port, ca: pem }) : net.connect({ port })
    t.teardown(() => { client.destroy() })
    client.write(create(1))
    const received = text(client)
    await executed(1)
    const drained = isDrained(app)
    await sleep(2_500)
    release()
    t.match(await received, /^HTTP\/1\.1 200 /)
    t.ok(await drained)
  })
}

t.test('the shutdown does not wait for pipelined requests whose client has disconnected', async t => {
  const { app, port, release, executed } = await serveHolding(t)
  const connection = await RawConnection.open(t, port)
  connection.write(create(1))
  await executed(1)
  const drained = isDrained(app)
  connection.write(create(2))
  await executed(2)
  connection.socket.destroy()
  await sleep(50)
  release()
  t.ok(await drained)
})

t.test('the shutdown neither waits for a held request whose client has disconnected, nor executes it', async t => {
  const { app, port, ids, release, executed } = await serveHolding(t)
  const [pending, held] = [await RawConnection.open(t, port), await RawConnection.open(t, port)]
  const drained = isDrained(app)
  pending.write(create(1))
  await executed(1)
  await sleep(600)
  held.write(create(2))
  await sleep(100)
  held.socket.destroy()
  await sleep(100)
  release()
  t.equal((await pending.answer()).status, 200)
  t.ok(await drained)
  t.strictSame(ids, [1n])
})

t.test('with TLS the shutdown does not wait for a connection without a handshake, nor for an idle one', async t => {
  const { cert, key, pem } = makeCertificate(testFolder(t), 'a')
  const { app, port } = await serveHolding(t, { tls: readTlsPair(cert, key) })
  const idle = tls.connect({ port, ca: pem })
  t.teardown(() => { idle.destroy() })
  await once(idle, 'secureConnect')
  t.ok(await isDrained(app))
})
