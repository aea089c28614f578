import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { trustedProxies } from '../../src/service/configuration/configuration.js'
import { host, register } from '../support/http/hosts.js'
import { exchange, listen, RawConnection } from '../support/http/raw-connection.js'
import {
  answersError, AUTHORIZATION, buildService, create as send, HEAD, JSON_TYPE, serve
} from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { until } from '../support/until.js'

const ID = /^[\w-]{12}-\w+$/
const CHUNKED = 'Transfer-Encoding: chunked'

t.test('an unknown path is 404, 40401, with any body and media type', async t => {
  const { app } = await buildService(t, forgetfulStore())
  const message = /^There is no such endpoint: plants are created with POST \/plants$/
  for (const path of ['/', '/plant', '/v1/plants', '/health', '/openapi', '/__proto__', '/%zz']) {
    answersError(t, await app.inject({ url: path }), 40401, message, `GET ${path}`)
    answersError(t, await send(app, path, { id: 1, name: 'x' }), 40401, message, `POST ${path}`)
  }
  const text = { 'content-type': 'text/plain', authorization: undefined }
  answersError(t, await send(app, '/plant', 'x', text), 40401, message, 'another content type')
  answersError(t, await send(app, '/plant', '{'), 40401, message, 'malformed JSON')
})

t.test('another method on a path of the service is 405, 40501, with Allow', async t => {
  const { app } = await buildService(t, forgetfulStore())
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const) {
    for (const url of ['/plants', '/plants?x=1', '/pl%61nts']) {
      const response = await app.inject({ method: method as 'GET', url })
      answersError(t, response, 40501, /^This path accepts only POST$/, `${method} ${url}`)
      t.equal(response.headers.allow, 'POST')
    }
  }
  for (const url of ['/health/live', '/health/ready', '/openapi.json']) {
    const response = await app.inject({ method: 'POST', url, payload: {} })
    answersError(t, response, 40501, /^This path accepts only GET and HEAD$/, url)
    t.equal(response.headers.allow, 'GET, HEAD')
  }
  t.match(await app.inject({ method: 'HEAD', url: '/plants' }), { statusCode: 405, headers: { allow: 'POST' } })
  const put = { method: 'PUT', url: '/plants', payload: 'x', headers: { 'content-type': 'text/plain' } } as const
  answersError(t, await app.inject(put), 40501, /only POST/, 'with a body')
})

t.test('a fragment or an absolute URL as the target changes neither 404 nor 405; an invalid one is 404', async t => {
  const { port } = await serve(t, forgetfulStore())
  const targets = {
    40401: [
      '/foo#%ff', '/foo#/plants', 'http://h/foo', 'http://h/%ff', 'http://h/plants#x', 'http://h:99999/plants',
      // An absolute URL without a path is /, which is 404 without the API page.
      'x://h/%ff', 'http://h', 'http://h?/plants'
    ],
    40501: ['/plants#x', '/plants#%ff', 'http://h/plants', 'HTTPS://h:1/plants?x=http://h/']
  }
  for (const [error, paths] of Object.entries(targets)) {
    for (const path of paths) {
      const { answers } = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
      const headers = { 'x-request-id': ID, ...(error === '40501' && { allow: 'POST' }) }
      t.match(answers, [{ status: Number(error.slice(0, 3)), headers, body: `{"error":${error},` }], path)
    }
  }
})

t.test('the health routes report whether the service is up and whether it is ready, without a token', async t => {
  let fault: string | undefined
  const { app, health } = await buildService(t, {
    ...forgetfulStore(), ready: async () => { if (fault !== undefined) throw new Error(fault) }
  })
  for (const url of ['/health/live', '/health/ready']) {
    const response = await app.inject({ url })
    t.strictSame([response.statusCode, response.json()], [200, { status: 'ok' }])
    t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  }

  fault = 'the disk is full'
  const response = await app.inject({ url: '/health/ready' })
  answersError(t, response, 50301, /^Not ready: the disk is full$/)
  t.match(response.headers, { 'retry-after': /^\d+$/ })
  t.equal((await app.inject({ url: '/health/live' })).statusCode, 200)

  fault = undefined
  t.equal((await app.inject({ url: '/health/ready' })).statusCode, 200, 'it recovers')
  health.closing = true
  answersError(t, await app.inject({ url: '/health/ready' }), 50301, /^Not ready: the service is shutting down$/)
  t.equal((await app.inject({ url: '/health/live' })).statusCode, 200)

  const other = await buildService(t, { create: async () => 'stored' })
  t.equal((await other.app.inject({ url: '/health/ready' })).statusCode, 200, 'a store without a ready method is ready')
})

async function serveUnready (t: Test, configuration = {}) {
  const store = { ...forgetfulStore(), ready: async () => { throw new Error('the disk is full') } }
  const service = await serve(t, store, { ACCESS_LOG: true, ...configuration })
  const lines = () => service.log.map(line => JSON.parse(line))
  /** The log lines of a request; the first appears soon after the response. */
  const linesOf = async (id: unknown) => {
    const found = () => lines().filter(({ reqId, msg }) => reqId === id && msg === 'request')
    await until(() => found().length > 0)
    return found()
  }
  return { ...service, lines, linesOf }
}

t.test('every non-2xx response has a unique X-Request-Id, which is also in its log line', async t => {
  const { app, port, linesOf } = await serveUnready(t)
  app.server.headersTimeout = 500
  const seen = new Set<string>()
  const requests: { status: number, sent: string[] }[] = [
    { status: 401, sent: ['POST /plants HTTP/1.1', 'Host: a', '', ''] },
    { status: 404, sent: ['GET /nowhere HTTP/1.1', 'Host: a', '', ''] },
    { status: 404, sent: ['GET /%zz HTTP/1.1', 'Host: a', '', ''] },
    { status: 405, sent: ['PUT /plants HTTP/1.1', 'Host: a', '', ''] },
    { status: 503, sent: ['GET /health/ready HTTP/1.1', 'Host: a', '', ''] },
    { status: 400, sent: ['GET / HTTP/1.1', '', ''] },
    { status: 400, sent: [...HEAD, '', ''] },
    { status: 415, sent: [...HEAD.slice(0, 3), 'Content-Length: 2', '', '{}'] },
    { status: 400, sent: [...HEAD, CHUNKED, '', 'zz', ''] },
    // Bytes that are not a valid request.
    { status: 400, sent: ['hello', '', ''] },
    { status: 431, sent: ['GET / HTTP/1.1', `X: ${'x'.repeat(20_000)}`, '', ''] },
    { status: 408, sent: ['GET / HTTP/1.1', 'Host: a', ''] }
  ]
  for (const { status, sent } of requests) {
    const name = `${status} ${sent.join().slice(0, 80)}`
    const { answers: [answer] } = await exchange(port, sent.join('\r\n'))
    t.equal(answer?.status, status, name)
    const id = answer?.headers['x-request-id'] ?? ''
    t.match(id, ID, name)
    t.notOk(seen.has(id), 'it is unique')
    seen.add(id)
    t.match(await linesOf(id), [{ level: Number, statusCode: status, remoteAddress: '127.0.0.1' }], name)
  }
  const [ofThis = ''] = seen
  const other = await (await buildService(t, forgetfulStore())).app.inject('/nowhere')
  t.not(String(other.headers['x-request-id']).slice(0, 12), ofThis.slice(0, 12), 'another process has others')
})

t.test('the id in REQUEST_ID_HEADER is trusted from a trusted proxy, and every response returns it', async t => {
  const proxies = { REQUEST_ID_HEADER: 'X-Correlation-Id', TRUST_PROXY: '10.0.0.0/8, 127.0.0.1' }
  const { app, port, linesOf } = await serveUnready(t, proxies)
  const request = async (line: string, ...headers: string[]) => {
    const { answers: [answer] } = await exchange(port, [line, 'Host: a', ...headers, '', ''].join('\r\n'))
    const id = answer?.headers['x-correlation-id']
    return { status: answer?.status, id, error: answer?.headers['x-request-id'], line: (await linesOf(id)).at(-1) }
  }
  for (const id of ['a', 'x'.repeat(128), '"},{"\\u0041\\', '!~']) {
    const header = `x-correlation-id: ${id}`
    const found = { status: 200, id, error: undefined, line: { reqId: id, statusCode: 200 } }
    t.match(await request('GET /health/live HTTP/1.1', header), found)
    const notFound = { status: 404, id, error: id, line: { reqId: id, statusCode: 404 } }
    t.match(await request('GET /nowhere HTTP/1.1', header), notFound)
  }
  for (const id of ['', 'x'.repeat(129), 'a b', 'a\xe9', 'a, b']) {
    const { id: given, line } = await request('GET /health/live HTTP/1.1', `X-Correlation-Id: ${id}`)
    t.match(given, ID, JSON.stringify(id))
    t.equal(line.reqId, given)
  }
  const from = async (remoteAddress: string, id: string) => (
    await app.inject({ url: '/nowhere', remoteAddress, headers: { 'x-correlation-id': id } })
  ).headers
  const other = await from('192.0.2.1', 'forged')
  t.not(other['x-correlation-id'], 'forged', 'not from any other peer')
  t.equal(other['x-correlation-id'], other['x-request-id'])
  t.equal((await from('::ffff:10.1.2.3', 'good'))['x-request-id'], 'good')

  for (const configuration of [{ REQUEST_ID_HEADER: 'x-request-id' }, { TRUST_PROXY: '127.0.0.1' }]) {
    const { app } = await buildService(t, forgetfulStore(), configuration)
    const headers = { 'x-request-id': 'forged', 'x-forwarded-for': '192.0.2.1' }
    t.match((await app.inject({ url: '/nowhere', headers })).headers['x-request-id'], ID, 'it takes both variables')
  }
})

t.test('the log has the address of the client behind trusted proxies, and a forged one breaks no line', async t => {
  const { app, lines } = await serveUnready(t, { TRUST_PROXY: '127.0.0.1, 10.0.0.0/8, 2001:db8::/32' })
  const forwarded: Record<string, string> = {
    '192.0.2.1': '192.0.2.1',
    '192.0.2.9, 192.0.2.1, 10.1.1.1': '192.0.2.1',
    '2001:db8::1': '2001:db8::1',
    '10.0.0.1, 2001:db8::1': '10.0.0.1',
    'fe80::1%eth0': 'fe80::1%eth0'
  }
  for (const [header, remoteAddress] of Object.entries(forwarded)) {
    await app.inject({ url: '/health/live', headers: { 'x-forwarded-for': header } })
    t.equal(lines().at(-1).remoteAddress, remoteAddress, header)
  }
  await app.inject({ url: '/health/live', headers: { 'x-forwarded-for': '","level":60,"x":"' } })
  t.match(lines().at(-1), { level: 30, remoteAddress: String })
  await app.inject({ url: '/health/live', remoteAddress: '192.0.2.7', headers: { 'x-forwarded-for': '192.0.2.1' } })
  t.equal(lines().at(-1).remoteAddress, '192.0.2.7', 'other peers are not trusted')
  t.equal(trustedProxies('unix:')(undefined), true, 'the peer of a Unix socket')
  t.equal(trustedProxies('127.0.0.1')(undefined), false)
})

const SMALL = '{"id":1,"name":"x"}'
const head = (...lines: string[]) => ['POST /plants HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n')
const GOOD = head(AUTHORIZATION, JSON_TYPE, `Content-Length: ${SMALL.length}`) + SMALL
const BYTES = 5_000_000
const BODY = 'x'.repeat(BYTES)
const LENGTH = `Content-Length: ${BYTES}`

const ofAnyApp: Record<string, { status: number, head: string, body?: string }> = {
  'a body over the limit': { status: 413, head: head(AUTHORIZATION, JSON_TYPE, LENGTH) },
  'no credentials': { status: 401, head: head(JSON_TYPE, LENGTH) },
  'no credentials, a body in chunks': { status: 401, head: head(JSON_TYPE, CHUNKED), body: '2\r\n{}\r\n0\r\n\r\n' },
  'an unknown token': { status: 401, head: head('Authorization: Bearer an-unknown-token', JSON_TYPE, LENGTH) },
  'another media type': { status: 415, head: head(AUTHORIZATION, 'Content-Type: text/plain', LENGTH) },
  'another transfer coding': {
    status: 415, head: head(AUTHORIZATION, JSON_TYPE, 'Transfer-Encoding: gzip, chunked'), body: '2\r\n{}\r\n0\r\n\r\n'
  }
}
const ofTheService: typeof ofAnyApp = {
  'an unknown path': { status: 404, head: head(LENGTH).replace('/plants', '/plant') },
  'another method': { status: 405, head: head(LENGTH).replace('POST', 'PUT') }
}

/**
 * Asserts that a client which sends all of a refused request before it reads, as Python's http.client does, gets the
 * response, and that the connection is then used again.
 */
async function assertRefused (t: Test, port: number, requests: typeof ofAnyApp): Promise<void> {
  for (const [name, { status, head, body = BODY }] of Object.entries(requests)) {
    for (let time = 0; time < 2; time++) {
      const connection = await RawConnection.open(t, port)
      connection.socket.pause()
      await new Promise(resolve => { connection.write(head).socket.write(body, resolve) })
      connection.socket.resume()
      const answer = await connection.answer()
      t.equal(answer.status, status, name)
      t.not(answer.headers.connection, 'close', name)
      t.equal((await connection.write(GOOD).answer()).status, 200, `${name}, then a create request`)
      connection.socket.destroy()
    }
  }
}

t.test('a client that sends the whole body before reading gets the response of a refused request', async t => {
  const { port } = await serve(t, forgetfulStore())
  await assertRefused(t, port, { ...ofAnyApp, ...ofTheService })
})

t.test('in a host too, even if its preParsing hook pipes the body', async t => {
  const app = host(t)
  app.addHook('preParsing', async (_request, _reply, payload) => payload.pipe(new PassThrough()))
  await register(app)
  await assertRefused(t, await listen(app), ofAnyApp)
})

t.test('a refused body that never ends is cut off when its request times out', async t => {
  const { app, port } = await serve(t, forgetfulStore())
  app.server.headersTimeout = app.server.requestTimeout = 500
  const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
  const heads = [[401, head(JSON_TYPE, CHUNKED)], [413, head(AUTHORIZATION, JSON_TYPE, CHUNKED)]] as const
  await Promise.all(heads.map(async ([status, head]) => {
    const connection = await RawConnection.open(t, port)
    connection.write(`${head}${chunk}${chunk}`)
    t.equal((await connection.answer()).status, status)
    const drip = setInterval(() => { connection.socket.write(chunk) }, 50)
    await connection.closed()
    clearInterval(drip)
  }))
})
