import { request as httpRequest, Agent } from 'node:http'
import t, { type Test } from 'tap'
import { forgetfulStore } from './forgetful-store.js'
import { listen, RawConnection, type RawAnswer } from './raw-http.js'
import { buildService, TOKEN } from './service.js'

const BODY = '{"id":1,"name":"x"}'
const HEAD = ['POST /plants HTTP/1.1', 'Host: localhost']
const TYPE = 'Content-Type: application/json'
const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`
const LENGTH = `Content-Length: ${BODY.length}`

async function serve (t: Test, configuration = {}) {
  const store = forgetfulStore()
  const { app } = await buildService(t, store, configuration)
  const port = await listen(app)
  t.teardown(() => app.server.closeAllConnections())
  return { app, store, port, connect: () => RawConnection.open(t, port) }
}

function refused (t: Test, { status, headers, body }: RawAnswer, error: number, name: string): void {
  t.strictSame({ status, type: headers['content-type'], error: JSON.parse(body).error },
    { status: Math.floor(error / 100), type: 'application/json; charset=utf-8', error }, name)
  t.match(JSON.parse(body).message, /\w/, name)
}

t.test('a plant is created over a socket, and the connection goes on', async t => {
  const { connect, store } = await serve(t)
  const connection = await connect()
  for (const id of [1, 2]) {
    const { status, body } = await connection.write(...HEAD, TYPE, AUTHORIZATION, LENGTH, '', BODY).answer()
    t.strictSame([status, body], [200, '{"name":"x"}'], `request ${id}`)
  }
  t.equal(store.plants.length, 2)
})

t.test('a chunked body is taken, and so is one in pieces', async t => {
  const { connect } = await serve(t)
  const connection = await connect()
  connection.write(...HEAD, TYPE, AUTHORIZATION, 'Transfer-Encoding: chunked', '', '9', BODY.slice(0, 9), 'a', BODY.slice(9), '0', '', '')
  t.equal((await connection.answer()).status, 200)
  connection.write(...HEAD, TYPE, AUTHORIZATION, LENGTH, '', BODY.slice(0, 5))
  await new Promise(resolve => setTimeout(resolve, 20))
  connection.write(BODY.slice(5))
  t.equal((await connection.answer()).status, 200)
})

t.test('a chunked body without a content type is 415, 41501', async t => {
  const { connect } = await serve(t)
  refused(t, await (await connect()).write(...HEAD, AUTHORIZATION, 'Transfer-Encoding: chunked', '', '13', BODY, '0', '', '').answer(), 41501, 'chunked')
})

t.test('after a refused body that was read the connection goes on', async t => {
  const { connect } = await serve(t)
  const connection = await connect()
  for (const [body, error] of [['', 40001], ['{', 40002], ['{}', 40003], ['{"__proto__":1}', 40002], ['[]', 40003]] as [string, number][]) {
    refused(t, await connection.write(...HEAD, TYPE, AUTHORIZATION, `Content-Length: ${body.length}`, '', body).answer(), error, JSON.stringify(body))
  }
  refused(t, await connection.write(...HEAD, AUTHORIZATION, '', '').answer(), 40001, 'no body at all')
  t.equal((await connection.write(...HEAD, TYPE, AUTHORIZATION, LENGTH, '', BODY).answer()).status, 200)
})

t.test('a header that may stand only once stands only once', async t => {
  const { connect, store } = await serve(t)
  const twice: [header: string, error: number, ...lines: string[]][] = [
    ['Authorization', 40101, 'Host: localhost', TYPE, AUTHORIZATION, AUTHORIZATION],
    ['Authorization, the second unknown', 40101, 'Host: localhost', TYPE, AUTHORIZATION, 'authorization: Bearer an-unknown-token'],
    ['Authorization, the first unknown', 40101, 'Host: localhost', TYPE, 'Authorization: Bearer an-unknown-token', AUTHORIZATION],
    ['Host', 40000, 'Host: localhost', 'host: elsewhere', TYPE, AUTHORIZATION],
    ['Content-Type', 40000, 'Host: localhost', TYPE, 'Content-Type: text/plain', AUTHORIZATION],
    ['Content-Type, twice the same', 40000, 'Host: localhost', TYPE, TYPE, AUTHORIZATION]
  ]
  for (const [name, error, ...lines] of twice) {
    const answer = await (await connect()).write('POST /plants HTTP/1.1', ...lines, LENGTH, '', BODY).answer()
    refused(t, answer, error, name)
    t.match(JSON.parse(answer.body).message, /^There is more than one (?:authorization|host|content-type) header: send one$/, name)
    if (error === 40101) t.equal(answer.headers['www-authenticate'], 'Bearer realm="plant-store", error="invalid_token", error_description="there is more than one Authorization header"')
  }
  const many = Array.from({ length: 40 }, (_, place) => `X-${'ab'.repeat(place % 8)}: 1`)
  t.equal((await (await connect()).write(...HEAD, ...many, TYPE, AUTHORIZATION, LENGTH, '', BODY).answer()).status, 200, 'others may stand often')
  const asLong = ['X-ab', 'X-Twelve-abc', 'X-Thirteen-ab'].map(name => `${name}: 1`)
  t.equal((await (await connect()).write(...HEAD, ...asLong, TYPE, AUTHORIZATION, LENGTH, '', BODY).answer()).status, 200, 'others are not taken for them')
  t.equal(store.plants.length, 2)
})

t.test('credentials are refused, and too large a body too, before the body has come', async t => {
  const { connect } = await serve(t)
  const withoutCredentials = await (await connect()).write(...HEAD, TYPE, 'Content-Length: 1000', '', '').answer()
  refused(t, withoutCredentials, 40101, 'no credentials')
  t.equal(withoutCredentials.headers['www-authenticate'], 'Bearer realm="plant-store"')
  refused(t, await (await connect()).write(...HEAD, TYPE, 'Authorization: Bearer an-unknown-token', 'Content-Length: 1000', '', '').answer(), 40102, 'an unknown token')
  const tooLarge = await (await connect()).write(...HEAD, TYPE, AUTHORIZATION, 'Content-Length: 1048577', '', '').answer()
  refused(t, tooLarge, 41301, 'too large')
  t.equal(tooLarge.headers.connection, 'close', 'the body is not waited for')
})

t.test('a chunked body that grows over the limit is 413', async t => {
  const { connect } = await serve(t, { BODY_LIMIT: 50 })
  const chunk = 'x'.repeat(40)
  const connection = await connect()
  const answer = await connection.write(...HEAD, TYPE, AUTHORIZATION, 'Transfer-Encoding: chunked', '', '28', chunk, '28', chunk, '').answer()
  refused(t, answer, 41301, 'chunked')
  t.equal(answer.headers.connection, 'close', 'the rest is not waited for')
})

t.test('what is no HTTP is 400, 40000, in the Error shape, and ends the connection', async t => {
  const { connect, store } = await serve(t)
  const malformed: [name: string, ...lines: string[]][] = [
    ['no HTTP', 'hello', '', ''],
    ['a header without a colon', ...HEAD, 'broken', '', ''],
    ['a space before the colon', ...HEAD, 'Content-Length : 19', '', BODY],
    ['two lengths', ...HEAD, TYPE, AUTHORIZATION, 'Content-Length: 19', 'Content-Length: 20', '', BODY],
    ['a length and chunks', ...HEAD, TYPE, AUTHORIZATION, LENGTH, 'Transfer-Encoding: chunked', '', '0', '', ''],
    ['a negative length', ...HEAD, TYPE, AUTHORIZATION, 'Content-Length: -1', '', BODY],
    ['a broken chunk', ...HEAD, TYPE, AUTHORIZATION, 'Transfer-Encoding: chunked', '', 'zz', '', ''],
    ['a NUL in a header', ...HEAD, 'X: a\0b', '', '']
  ]
  for (const [name, ...lines] of malformed) {
    const connection = await connect()
    const answer = await connection.write(...lines).answer()
    refused(t, answer, 40000, name)
    t.equal(answer.headers.connection, 'close', name)
    await connection.closed()
  }
  t.equal(store.plants.length, 0)
})

t.test('a request without a Host is 400, 40000, in the Error shape (RFC 9112, section 3.2)', async t => {
  const { connect, store } = await serve(t)
  const answer = await (await connect()).write('POST /plants HTTP/1.1', TYPE, AUTHORIZATION, LENGTH, '', BODY).answer()
  t.equal(answer.status, 400)
  t.match(answer.body, /^{"error":40000,"message":".+"}$/)
  t.equal(store.plants.length, 0)
})

t.test('headers without end are 431, 43101', async t => {
  const { connect } = await serve(t)
  const connection = await connect()
  refused(t, await connection.write(...HEAD, `X: ${'x'.repeat(20_000)}`, '', '').answer(), 43101, 'a header of 20,000 bytes')
  await connection.closed()
})

t.test('a client that goes away in its body does no harm', async t => {
  const { connect, port, store } = await serve(t)
  const connection = await connect()
  connection.write(...HEAD, TYPE, AUTHORIZATION, LENGTH, '', BODY.slice(0, 5))
  await new Promise(resolve => setTimeout(resolve, 20))
  connection.socket.resetAndDestroy()
  const half = await connect()
  half.write(...HEAD, TYPE, AUTHORIZATION, LENGTH, '', BODY.slice(0, 5))
  half.socket.end()
  await half.closed()
  t.equal(await post(port), 200)
  t.equal(store.plants.length, 1)
})

t.test('requests that come before the answer to the one before are answered in order', async t => {
  const { connect } = await serve(t)
  const connection = await connect()
  const good = [...HEAD, TYPE, AUTHORIZATION, LENGTH, '', BODY].join('\r\n')
  const bad = [...HEAD, TYPE, LENGTH, '', BODY].join('\r\n')
  connection.socket.write(good + bad + good)
  const statuses = [await connection.answer(), await connection.answer(), await connection.answer()].map(({ status }) => status)
  t.strictSame(statuses, [200, 401, 200])
})

t.test('a slow client is cut: 10 s for the headers, 20 s for the whole', async t => {
  const { app } = await serve(t)
  t.match(app.server, { headersTimeout: 10_000, requestTimeout: 20_000 })
})

function post (port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest({ port, host: '127.0.0.1', path: '/plants', method: 'POST', agent: new Agent(), headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' } },
      response => { response.resume().on('end', () => resolve(response.statusCode as number)) }).on('error', reject).end(BODY)
  })
}
