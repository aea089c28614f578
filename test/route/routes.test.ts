import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { trustedProxies } from '../../src/config/configuration.js'
import { exchange } from '../support/http/raw-connection.js'
import { answersError, buildService, create as send, HEAD, serve } from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'

t.test('an unknown path is 404, 40401, with any body and media type', async t => {
  const { app } = await buildService(t, forgetfulStore())
  const message = /^There is no such endpoint: plants are created with POST \/plants$/
  for (const path of ['/', '/plant', '/v1/plants', '/health', '/openapi', '/__proto__', '/%zz']) {
    answersError(t, await app.inject({ url: path }), 40401, message, `GET ${path}`)
    answersError(t, await send(app, path, { id: 1, name: 'x' }), 40401, message, `POST ${path}`)
  }
  answersError(t, await send(app, '/plant', 'x', { 'content-type': 'text/plain', authorization: undefined }), 40401, message, 'another content type')
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
  answersError(t, await app.inject({ method: 'PUT', url: '/plants', payload: 'x', headers: { 'content-type': 'text/plain' } }), 40501, /only POST/, 'with a body')
})

t.test('a fragment or an absolute URL as the request target changes neither 404 nor 405, and an invalid one is 404', async t => {
  const { port } = await serve(t, forgetfulStore(), { DOCS: true })
  const targets = {
    40401: ['/foo#%ff', '/foo#/plants', 'http://h/foo', 'http://h/%ff', 'http://h/plants#x', 'http://h:99999/plants', 'x://h/%ff'],
    40501: ['/plants#x', '/plants#%ff', 'http://h/plants', 'HTTPS://h:1/plants?x=http://h/']
  }
  for (const [error, paths] of Object.entries(targets)) {
    for (const path of paths) {
      const { answers } = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
      const headers = { 'x-request-id': /^[\w-]{12}-\w+$/, ...(error === '40501' && { allow: 'POST' }) }
      t.match(answers, [{ status: Number(error.slice(0, 3)), headers, body: `{"error":${error},` }], path)
    }
  }
})

t.test('an absolute URL without a path is /, which is 404 without the API page', async t => {
  const { port } = await serve(t, forgetfulStore())
  for (const target of ['http://h', 'http://h?/plants']) {
    const { answers } = await exchange(port, `GET ${target} HTTP/1.1\r\nHost: h\r\n\r\n`)
    t.match(answers, [{ status: 404, body: '{"error":40401,' }], target)
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
})

t.test('requests for /health/ready at the same time share one check of the store', async t => {
  let checks = 0
  const { app } = await buildService(t, { ...forgetfulStore(), ready: async () => { if (++checks > 1) throw new Error('the disk is full') } })
  const answers = await Promise.all(Array.from({ length: 10 }, async () => app.inject('/health/ready')))
  t.strictSame(answers.map(({ statusCode }) => statusCode), Array(10).fill(200))
  answersError(t, await app.inject('/health/ready'), 50301, /^Not ready: the disk is full$/, 'a later one has a new check')
  t.equal(checks, 2)
})

t.test('a store without a ready method is ready; one whose ready method never settles is not', async t => {
  const silent = await buildService(t, { create: async () => 'stored' })
  t.equal((await silent.app.inject({ url: '/health/ready' })).statusCode, 200)
  // The timer of a check does not keep the process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  const hanging = await buildService(t, { create: async () => 'stored', ready: () => new Promise(() => {}) })
  answersError(t, await hanging.app.inject({ url: '/health/ready' }), 50301, /^Not ready: the store did not respond within \d+ ms$/)
})

async function serveUnready (t: Test, configuration = {}) {
  const service = await serve(t, { ...forgetfulStore(), ready: async () => { throw new Error('the disk is full') } }, { ACCESS_LOG: true, ...configuration })
  const lines = () => service.log.map(line => JSON.parse(line))
  /** The log lines of a request; the first appears soon after the response. */
  const linesOf = async (id: unknown) => {
    const found = () => lines().filter(({ reqId, msg }) => reqId === id && msg === 'request')
    for (let turn = 0; turn < 400 && found().length === 0; turn++) await sleep(5)
    return found()
  }
  return { ...service, lines, linesOf }
}

t.test('every non-2xx response has a unique X-Request-Id, which is also in its log line', async t => {
  const { port, linesOf } = await serveUnready(t)
  const seen = new Set<string>()
  for (const [status, ...sent] of [
    [401, 'POST /plants HTTP/1.1', 'Host: a', '', ''], [404, 'GET /nowhere HTTP/1.1', 'Host: a', '', ''], [404, 'GET /%zz HTTP/1.1', 'Host: a', '', ''], [405, 'PUT /plants HTTP/1.1', 'Host: a', '', ''],
    [503, 'GET /health/ready HTTP/1.1', 'Host: a', '', ''], [400, 'GET / HTTP/1.1', '', ''], [400, ...HEAD, '', ''], [415, ...HEAD.slice(0, 3), 'Content-Length: 2', '', '{}'],
    [400, ...HEAD, 'Transfer-Encoding: chunked', '', 'zz']
  ] as [number, ...string[]][]) {
    const { answers: [answer] } = await exchange(port, sent.join('\r\n') + '\r\n')
    t.equal(answer?.status, status, sent.join())
    const id = answer?.headers['x-request-id'] ?? ''
    t.match(id, /^[\w-]{12}-\w+$/, sent.join())
    t.notOk(seen.has(id), 'it is unique')
    seen.add(id)
    t.match(await linesOf(id), [{ statusCode: status, msg: 'request' }], `${status} ${sent.join()}`)
  }
})

const notRequests = [
  [400, 'hello\r\n\r\n'], [431, `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`], [408, 'GET / HTTP/1.1\r\nHost: a\r\n']
] as const

t.test('a response to bytes that are not a valid request also has a log line with its X-Request-Id', async t => {
  const { app, port, lines, linesOf } = await serveUnready(t)
  app.server.headersTimeout = 500
  for (const [status, sent] of notRequests) {
    const { answers: [answer] } = await exchange(port, sent, { timeoutMs: 10_000 })
    t.equal(answer?.status, status)
    const reqId = answer?.headers['x-request-id'] ?? ''
    t.match(reqId, /^[\w-]{12}-\w+$/)
    t.match(await linesOf(reqId), [{ level: 30, statusCode: status, remoteAddress: '127.0.0.1', msg: 'request' }])
  }
  t.equal(lines().length, notRequests.length)
})

t.test('two processes have different ids', async t => {
  const [one, other] = [await buildService(t, forgetfulStore()), await buildService(t, forgetfulStore())]
  const prefix = async ({ app }: typeof one) => String((await app.inject({ url: '/nowhere' })).headers['x-request-id']).slice(0, 12)
  t.not(await prefix(one), await prefix(other))
})

t.test('the id in REQUEST_ID_HEADER is trusted if it comes from a trusted proxy, and every response returns it', async t => {
  const { app, port, linesOf } = await serveUnready(t, { REQUEST_ID_HEADER: 'X-Correlation-Id', TRUST_PROXY: '10.0.0.0/8, 127.0.0.1' })
  const request = async (line: string, ...headers: string[]) => {
    const { answers: [answer] } = await exchange(port, [line, 'Host: a', ...headers, '', ''].join('\r\n'))
    const id = answer?.headers['x-correlation-id']
    return { status: answer?.status, id, error: answer?.headers['x-request-id'], line: (await linesOf(id)).at(-1) }
  }
  for (const id of ['a', 'x'.repeat(128), '"},{"\\u0041\\', '!~']) {
    const header = `x-correlation-id: ${id}`
    t.match(await request('GET /health/live HTTP/1.1', header), { status: 200, id, error: undefined, line: { reqId: id, statusCode: 200 } })
    t.match(await request('GET /nowhere HTTP/1.1', header), { status: 404, id, error: id, line: { reqId: id, statusCode: 404 } })
  }
  for (const id of ['', 'x'.repeat(129), 'a b', 'a\xe9', 'a, b']) {
    const { id: given, line } = await request('GET /health/live HTTP/1.1', `X-Correlation-Id: ${id}`)
    t.match(given, /^[\w-]{12}-\w+$/, JSON.stringify(id))
    t.equal(line.reqId, given)
  }
  const other = await app.inject({ url: '/nowhere', remoteAddress: '192.0.2.1', headers: { 'x-correlation-id': 'forged' } })
  t.not(other.headers['x-correlation-id'], 'forged', 'not from any other peer')
  t.equal(other.headers['x-correlation-id'], other.headers['x-request-id'])
  t.equal((await app.inject({ url: '/nowhere', remoteAddress: '::ffff:10.1.2.3', headers: { 'x-correlation-id': 'good' } })).headers['x-request-id'], 'good')
})

t.test('without TRUST_PROXY no peer is trusted, and without REQUEST_ID_HEADER no header', async t => {
  const headers = { 'x-request-id': 'forged', 'x-forwarded-for': '192.0.2.1' }
  for (const configuration of [{ REQUEST_ID_HEADER: 'x-request-id' }, { TRUST_PROXY: '127.0.0.1' }]) {
    const { app } = await serveUnready(t, configuration)
    t.match((await app.inject({ url: '/nowhere', headers })).headers['x-request-id'], /^[\w-]{12}-\w+$/)
  }
})

t.test('the log has the address of the client behind trusted proxies, and a forged address does not break the line', async t => {
  const { app, lines } = await serveUnready(t, { TRUST_PROXY: '127.0.0.1, 10.0.0.0/8, 2001:db8::/32' })
  for (const [forwarded, expected] of [
    ['192.0.2.1', '192.0.2.1'], ['192.0.2.9, 192.0.2.1, 10.1.1.1', '192.0.2.1'], ['2001:db8::1', '2001:db8::1'], ['10.0.0.1, 2001:db8::1', '10.0.0.1'],
    // As Azure's gateway writes them.
    ['192.0.2.1:5678', '192.0.2.1'], ['192.0.2.1:5678, 10.1.1.1:80', '192.0.2.1'], ['[2001:db9::1]:5678', '2001:db9::1'],
    ['","level":60,"x":"', '","level":60'], ['fe80::1%eth0', 'fe80::1%eth0']
  ]) {
    await app.inject({ url: '/health/live', headers: { 'x-forwarded-for': String(forwarded) } })
    t.match(lines().at(-1), { level: 30, remoteAddress: String }, String(forwarded))
    if (!String(forwarded).includes('"')) t.equal(lines().at(-1).remoteAddress, expected)
  }
  await app.inject({ url: '/health/live', remoteAddress: '192.0.2.7', headers: { 'x-forwarded-for': '192.0.2.1' } })
  t.equal(lines().at(-1).remoteAddress, '192.0.2.7', 'other peers are not trusted')
})

t.test('the peer of a Unix socket is trusted if TRUST_PROXY contains unix:', async t => {
  t.equal(trustedProxies('unix:')(undefined), true)
  t.equal(trustedProxies('127.0.0.1')(undefined), false)
})
