import t from 'tap'
import { exchange } from '../support/http/raw-connection.js'
import { answersError, buildService, create as send, serve } from '../support/http/service.js'
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
    40401: ['/foo#%ff', '/foo#/plants', 'http://h/foo', 'http://h', 'http://h?/plants', 'http://h/%ff', 'http://h/plants#x', 'http://h:99999/plants', 'x://h/%ff'],
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
