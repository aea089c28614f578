import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import plantStore from '../../../src/index.js'
import { host, tokens } from '../../support/http/hosts.js'
import { exchange, listen, RawConnection } from '../../support/http/raw-connection.js'
import { AUTHORIZATION, JSON_TYPE, serve, TOKEN } from '../../support/http/service.js'
import { forgetfulStore } from '../../support/stores/forgetful-store.js'

const head = (...lines: string[]) => ['POST /plants HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n')
const PLANT = '{"id":1,"name":"x"}'
const GOOD = head(AUTHORIZATION, JSON_TYPE, `Content-Length: ${PLANT.length}`) + PLANT
const CHUNKED = 'Transfer-Encoding: chunked'
const BYTES = 5_000_000
const BODY = 'x'.repeat(BYTES)
const LENGTH = `Content-Length: ${BYTES}`
const inChunks = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

const refused: Record<string, [status: number, head: string, body: string]> = {
  'a body over the limit': [413, head(AUTHORIZATION, JSON_TYPE, LENGTH), BODY],
  'a body over the limit, in chunks': [413, head(AUTHORIZATION, JSON_TYPE, CHUNKED), inChunks(BODY)],
  'no credentials': [401, head(JSON_TYPE, LENGTH), BODY],
  'no credentials, a body in chunks': [401, head(JSON_TYPE, CHUNKED), inChunks('{}')],
  'an unknown token': [401, head('Authorization: Bearer an-unknown-token', JSON_TYPE, LENGTH), BODY],
  'another media type': [415, head(AUTHORIZATION, 'Content-Type: text/plain', LENGTH), BODY]
}
const refusedByService: typeof refused = {
  'an unknown path': [404, head(LENGTH).replace('/plants', '/plant'), BODY],
  'another method': [405, head(LENGTH).replace('POST', 'PUT'), BODY]
}

/**
 * Asserts that a client which sends all of a refused request before it reads, as Python's http.client does, gets the
 * response, and that the connection is then used again.
 */
async function assertRefused (t: Test, port: number, requests: typeof refused): Promise<void> {
  for (const [name, [status, head, body]] of Object.entries(requests)) {
    for (let time = 0; time < 2; time++) {
      const connection = await RawConnection.open(t, port)
      connection.socket.pause()
      await new Promise(resolve => { connection.write(head).socket.write(body, resolve) })
      connection.socket.resume()
      t.match(await connection.answer(), { status, headers: { connection: 'keep-alive' } }, name)
      t.equal((await connection.write(GOOD).answer()).status, 200, `${name}, then a create request`)
      connection.socket.destroy()
    }
  }
}

t.test('a client that sends the whole body before reading gets the response of a refused request', async t => {
  const { port } = await serve(t, forgetfulStore())
  await assertRefused(t, port, { ...refused, ...refusedByService })
})

t.test('in a host too, even if its preParsing hook pipes the body', async t => {
  for (const pipes of [false, true]) {
    const app = host(t)
    if (pipes) app.addHook('preParsing', async (_request, _reply, payload) => payload.pipe(new PassThrough()))
    await app.register(plantStore, { store: forgetfulStore(), tokens })
    await assertRefused(t, await listen(app), refused)
  }
})

t.test('fetch gets the response of a refused request with a large body', async t => {
  const { port } = await serve(t, forgetfulStore())
  for (const [status, authorization] of [[413, `Bearer ${TOKEN}`], [401, 'Bearer an-unknown-token']] as const) {
    for (let time = 0; time < 4; time++) {
      const response = await fetch(`http://127.0.0.1:${port}/plants`, { method: 'POST', body: BODY, headers: { authorization, 'content-type': 'application/json' } })
      t.equal(response.status, status)
      await response.text()
    }
  }
})

t.test('a create request pipelined after a refusal gets its response', async t => {
  const store = forgetfulStore()
  const { port } = await serve(t, store)
  for (const [name, [status, head, body]] of Object.entries(refused)) {
    const { answers } = await exchange(port, head + body + GOOD, { expected: 2 })
    t.strictSame(answers.map(({ status }) => status), [status, 200], name)
  }
  t.equal(store.plants.length, Object.keys(refused).length)
})

/** Writes chunks until the connection is closed; returns how many megabytes were accepted. */
async function sendForever (port: number, head: string): Promise<number> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {}).resume().write(head)
  const closed = new Promise(resolve => { socket.once('close', resolve) })
  const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
  for (let megabytes = 0; ; megabytes++) {
    if (socket.destroyed) return megabytes
    if (!socket.write(chunk)) await Promise.race([closed, new Promise(resolve => { socket.once('drain', resolve) })])
  }
}

t.test('an endless body is cut off when the request times out, and takes no memory until then', async t => {
  const { app, port } = await serve(t, forgetfulStore())
  app.server.headersTimeout = app.server.requestTimeout = 500
  const before = process.memoryUsage().rss
  await Promise.all(Object.entries({
    'no credentials': head(JSON_TYPE, CHUNKED),
    'over the limit': head(AUTHORIZATION, JSON_TYPE, CHUNKED),
    'an unknown path': head(CHUNKED).replace('/plants', '/'),
    'a request that needs no body': head(CHUNKED).replace('POST /plants', 'GET /health/live')
  }).map(async ([name, request]) => {
    const megabytes = await sendForever(port, request)
    const grown = (process.memoryUsage().rss - before) / 0x100000
    t.ok(grown < 150, `${name}: ${megabytes} MB were sent, memory has grown by ${grown.toFixed()} MB`)
  }))
})
