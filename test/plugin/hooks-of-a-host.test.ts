import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import auth from '@fastify/auth'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import jwt from '@fastify/jwt'
import { FastifyOtelInstrumentation } from '@fastify/otel'
import rateLimit from '@fastify/rate-limit'
import context, { requestContext } from '@fastify/request-context'
import underPressure from '@fastify/under-pressure'
import type { FastifyServerOptions } from 'fastify'
import t from 'tap'
import { memoryPlantStore, PlantNotStored, type PlantStore } from '../../src/index.js'
import { host, keepsTheContract, PLANT, register } from '../support/http/hosts.js'
import { listen, RawConnection } from '../support/http/raw-connection.js'
import { answersError, answersPlant, create, HEAD, TOKEN } from '../support/http/service.js'
import { until } from '../support/until.js'

const beforeTheHandler = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

const unusable = (what: string) => (): never => { throw new Error(`the host's ${what} was used`) }

t.test('parsers, validators, serializers and limits of the host do not affect plants', async t => {
  const customOptions = { coerceTypes: 'array', removeAdditional: 'all', allErrors: true } as const
  const bucket = { add: unusable('bucket'), getSchema: unusable('bucket'), getSchemas: () => ({}) }
  const compilersFactory = { buildValidator: unusable('validator'), buildSerializer: unusable('serializer') }
  const settings: FastifyServerOptions[] = [
    { ajv: { customOptions, onCreate: unusable('onCreate') }, bodyLimit: 1, return503OnClosing: false },
    { schemaController: { bucket: () => bucket, compilersFactory } },
    { onProtoPoisoning: 'ignore', onConstructorPoisoning: 'ignore', genReqId: () => 'the host\'s' }
  ]
  for (const options of settings) {
    const app = host(t, options)
    await register(app)
    await keepsTheContract(t, app)
  }
  const app = host(t)
  app.setValidatorCompiler(() => () => ({ error: new Error('the host\'s validator refuses everything') }))
  app.setSerializerCompiler(() => () => '"the host\'s serializer"')
  app.setSchemaErrorFormatter(unusable('formatter'))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => { done(new Error('the host\'s parser')) })
  await register(app)
  app.post('/own', async () => 'own')
  await keepsTheContract(t, app)
  t.equal((await create(app, '/own', {})).statusCode, 500, 'the host\'s own routes use them')
})

t.test('a reply serializer of the host serializes what its scope inherits, as on any route', async t => {
  const app = host(t)
  app.setReplySerializer((payload, statusCode) => JSON.stringify({ statusCode, payload }))
  await register(app)
  t.strictSame((await create(app, '/plants', PLANT)).json(), { statusCode: 200, payload: { name: 'Ficus' } })
})

t.test('every hook of the host runs, once for each request and in order', async t => {
  const app = host(t)
  const called: string[] = []
  const answered = ['preSerialization', 'onSend', 'onResponse']
  for (const name of [...beforeTheHandler, 'onError', ...answered]) {
    app.addHook(name as 'onRequest', (...all: unknown[]) => {
      called.push(name)
      const done = all.at(-1)
      if (typeof done === 'function') done()
    })
  }
  await register(app)
  const seen = async (body: unknown, headers = {}): Promise<string[]> => {
    await create(app, '/plants', body, headers)
    return called.splice(0)
  }
  t.strictSame(await seen(PLANT), [...beforeTheHandler, ...answered])
  t.strictSame(await seen({ ...PLANT, name: 'Fern' }), [...beforeTheHandler, 'onError', ...answered])
  for (const body of ['', '{', 'null']) {
    t.strictSame(await seen(body), ['onRequest', 'preParsing', 'onError', ...answered], 'a refused body')
  }
  t.strictSame(await seen(PLANT, { authorization: undefined }), ['onRequest', 'onError', ...answered])
})

t.test('what a hook sends or throws is the response, as on the host\'s own routes, and nothing is stored', async t => {
  const error = Object.assign(new Error('no'), { statusCode: 401, code: 'HOST_NO' })
  const thrown = [error, { statusCode: 403, message: 'no' }, 'no', runInNewContext('new TypeError("no")')]
  const statuses = [200, 400, 401, 429, 500, 503]
  for (const hook of beforeTheHandler) {
    for (const hasErrorHandler of [true, false]) {
      const app = host(t)
      if (hasErrorHandler) {
        app.setErrorHandler((error: unknown, _request, reply) => { reply.code(418).send({ host: String(error) }) })
      }
      app.addHook(hook as 'onRequest', async ({ headers }, reply) => {
        if (headers['x-throws'] !== undefined) throw thrown[Number(headers['x-throws'])]
        const statusCode = Number(headers['x-sends'])
        return reply.code(statusCode).header('x-host', '1').send({ statusCode, error: 'the host\'s', detail: [1] })
      })
      app.post('/own', async () => ({}))
      const store = await register(app)
      for (const headers of [...thrown.keys()].map(index => ({ 'x-throws': String(index) }))) {
        const expected = await create(app, '/own', PLANT, headers)
        const response = await create(app, '/plants', PLANT, headers)
        t.ok(response.statusCode >= 400)
        t.strictSame([response.statusCode, response.body], [expected.statusCode, expected.body], hook)
      }
      for (const statusCode of statuses) {
        const response = await create(app, '/plants', PLANT, { 'x-sends': String(statusCode) })
        t.match(response, { statusCode, headers: { 'x-host': '1' } }, hook)
        t.strictSame(response.json(), { statusCode, error: 'the host\'s', detail: [1] }, `${hook}: ${statusCode}`)
      }
      t.equal(store.plants.size, 0)
    }
  }
})

t.test('if an onSend hook fails, the host\'s error handler answers, with its own content type', async t => {
  const app = host(t)
  app.setErrorHandler((error: Error, _request, reply) => { reply.code(418).send({ host: error.message }) })
  app.addHook('onSend', async (_request, reply) => { if (reply.statusCode !== 418) throw new Error('no') })
  app.post('/own', async () => ({}))
  await register(app)
  for (const [url, body] of [['/own', PLANT], ['/plants', PLANT], ['/plants', '{']] as const) {
    const response = await create(app, url, body)
    t.match(response, { statusCode: 418, headers: { 'content-type': 'application/json; charset=utf-8' } }, url)
    t.equal(response.body, '{"host":"no"}')
  }
})

t.test('headers set by a hook are kept, and a preSerialization hook may change any response', async t => {
  const app = host(t)
  app.addHook('onRequest', async (_request, reply) => { reply.header('set-cookie', ['a=1', 'b=2']) })
  app.addHook('preSerialization', async (_request, _reply, payload) => ({ data: payload }))
  app.addHook('onSend', async (_request, reply) => { reply.header('etag', '"1"') })
  await register(app)
  for (const [body, data] of [[PLANT, { name: 'Ficus' }], ['{', { error: 40002 }]] as const) {
    const response = await create(app, '/plants', body)
    t.match(response.headers, { 'set-cookie': ['a=1', 'b=2'], etag: '"1"' })
    t.match(response.json(), { data })
  }
})

t.test('preParsing may return another stream, and what later hooks make of a body is the plant', async t => {
  const app = host(t)
  app.addHook('preParsing', async ({ headers }, _reply, payload) => {
    if (headers['x-broken'] !== undefined) {
      return new Readable({ read () { this.destroy(new Error('broken')) } })
    }
    return headers['x-other'] === undefined ? payload : Readable.from(['{"id":2,', '"name":"Other"}'])
  })
  app.addHook('preValidation', async ({ body }) => { Object.assign(Object(body), { tag: 'tag', more: 1 }) })
  const seen: unknown[] = []
  app.addHook('preHandler', async request => {
    seen.push(request.body)
    request.body = { ...Object(request.body), tag: undefined }
  })
  const store = await register(app)
  answersPlant(t, await create(app, '/plants', PLANT), { name: 'Ficus' })
  answersPlant(t, await create(app, '/plants', PLANT, { 'x-other': '1' }), { name: 'Other' })
  t.strictSame(seen, [{ id: 1n, name: 'Ficus', tag: 'tag' }, { id: 2n, name: 'Other', tag: 'tag' }])
  t.strictSame([...store.plants.values()], [{ id: 1n, name: 'Ficus' }, { id: 2n, name: 'Other' }])
  answersError(t, await create(app, '/plants', PLANT, { 'x-broken': '1' }), 40001, /^The body could not be read/)
})

t.test('a body may arrive with the headers, after them, in parts, or before a hook of the host completes', async t => {
  const app = host(t)
  app.addHook('onRequest', async ({ headers, raw }) => {
    if (headers['x-late'] !== undefined) await until(() => raw.complete)
  })
  await register(app)
  const connection = await RawConnection.open(t, await listen(app))
  const body = JSON.stringify(PLANT)
  const length = `Content-Length: ${body.length}`
  const chunks = [`9\r\n${body.slice(0, 9)}\r\n`, `${(body.length - 9).toString(16)}\r\n${body.slice(9)}\r\n0\r\n\r\n`]
  for (const { header, parts } of [
    { header: `${length}\r\n\r\n${body}`, parts: [] },
    { header: `${length}\r\n`, parts: [body] },
    { header: `${length}\r\n`, parts: [body.slice(0, 9), body.slice(9)] },
    { header: 'Transfer-Encoding: chunked\r\n', parts: chunks },
    { header: `X-Late: 1\r\n${length}\r\n`, parts: [body] }
  ]) {
    connection.write(...HEAD, header, '')
    for (const part of parts) {
      await sleep(20)
      connection.socket.write(part)
    }
    t.equal((await connection.answer()).status, 200, header)
  }
})

t.test('the async context of a request reaches the store and every later hook, over a socket', async t => {
  const context = new AsyncLocalStorage<number>()
  const seen: Record<string, (number | undefined)[]> = {}
  const see = (name: string): void => { (seen[name] ??= []).push(context.getStore()) }
  let hold: Promise<void> = Promise.resolve()
  const store: PlantStore = {
    async create ({ id }) {
      see('store')
      await hold
      if (id === 3n) throw new PlantNotStored('full')
      return 'stored'
    }
  }
  const app = host(t)
  let requests = 0
  app.addHook('onRequest', (_request, _reply, done) => { context.run(++requests, done) })
  for (const name of ['preHandler', 'onError', 'onSend', 'onResponse']) {
    app.addHook(name as 'preHandler', async () => { see(name) })
  }
  await register(app, { store, storeTimeout: 1_000 })
  const port = await listen(app)
  const send = async (body: string): Promise<number> => (await fetch(`http://127.0.0.1:${port}/plants`, {
    method: 'POST', body, headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  })).status

  t.equal(await send('{"id":1,"name":"Ficus"}'), 200)
  t.equal(await send('{"id":3,"name":"Ficus"}'), 503)
  let release = (): void => {}
  hold = new Promise(resolve => { release = resolve })
  const statuses = Promise.all([send('{"id":4,"name":"Ficus"}'), send('{"id":5,"name":"Ficus"}')])
  t.strictSame(await statuses, [504, 504], 'a timer fires for each')
  release()
  const all = [1, 2, 3, 4]
  await until(() => seen.store?.length === all.length && seen.onResponse?.length === all.length)
  for (const name of ['store', 'preHandler', 'onSend', 'onResponse']) t.strictSame(seen[name]?.toSorted(), all, name)
  t.strictSame(seen.onError?.toSorted(), [2, 3, 4])
})

t.test('a host\'s handlerTimeout, logLevel and onRequestAbort apply', async t => {
  await t.test('handlerTimeout', async t => {
    const app = host(t, { handlerTimeout: 20 })
    const store: PlantStore = { create: async () => { await sleep(500); return 'stored' } }
    await register(app, { store })
    t.match((await create(app, '/plants', PLANT)).json(), { statusCode: 503, code: 'FST_ERR_HANDLER_TIMEOUT' })
  })
  await t.test('logLevel', async t => {
    const lines: string[] = []
    const app = host(t, { logger: { level: 'info', stream: { write: (line: string) => { lines.push(line) } } } })
    const store: PlantStore = { create: async () => { throw new PlantNotStored('full') } }
    await register(app, { prefix: '/quiet', logLevel: 'error', store })
    await register(app, { prefix: '/usual', store })
    await create(app, '/quiet/plants', PLANT)
    t.strictSame(lines.splice(0), [])
    await create(app, '/usual/plants', PLANT)
    const notStored = 'This request did not store the plant: retry later'
    t.strictSame(lines.map(line => JSON.parse(line).msg), ['incoming request', notStored, 'request completed'])
  })
  await t.test('onRequestAbort', async t => {
    const app = host(t)
    const aborted = new Promise<string>(resolve => {
      app.addHook('onRequestAbort', async ({ url }) => { resolve(url) })
    })
    const store = await register(app)
    const connection = await RawConnection.open(t, await listen(app))
    connection.write(...HEAD, 'Content-Length: 23', '', '{"id":1,')
    await once(app.server, 'request')
    connection.socket.destroy()
    t.equal(await aborted, '/plants')
    t.equal(store.plants.size, 0)
    await keepsTheContract(t, app)
  })
})

t.test('@fastify/rate-limit and @fastify/under-pressure run before authentication, in their own shape', async t => {
  const limited = host(t)
  await limited.register(rateLimit, { max: 5 })
  await register(limited)
  for (const status of [401, 401, 401, 401, 401, 429, 429]) {
    t.equal((await create(limited, '/plants', PLANT, { authorization: 'Bearer guess' })).statusCode, status)
  }
  t.equal((await create(limited, '/plants', PLANT)).statusCode, 429)

  const app = host(t)
  await app.register(underPressure, { maxHeapUsedBytes: 1, sampleInterval: 1 })
  await register(app)
  await app.ready()
  await sleep(20)
  const response = await create(app, '/plants', PLANT, { authorization: undefined })
  t.match([response.statusCode, response.json()], [503, { code: 'FST_UNDER_PRESSURE' }])
})

t.test('hooks that @fastify/auth or an onRoute hook of the host adds run before authentication too', async t => {
  const app = host(t)
  await app.register(auth)
  const called: string[] = []
  app.addHook('onRoute', route => {
    const check = app.auth([async () => { called.push('auth') }])
    route.onRequest = route.onRequest === undefined ? check : [route.onRequest, check].flat()
  })
  await register(app, {
    tokens: () => {
      called.push('token')
      return true
    }
  })
  await create(app, '/plants', PLANT)
  t.strictSame(called, ['auth', 'token'])
})

t.test('helmet, cors, compress, request-context and otel do their work on the route', async t => {
  const app = host(t)
  await app.register(new FastifyOtelInstrumentation().plugin())
  await app.register(helmet)
  await app.register(cors)
  await app.register(compress, { threshold: 0 })
  await app.register(context)
  app.addHook('onRequest', async request => { request.requestContext.set('user' as never, 'ann' as never) })
  const users: unknown[] = []
  const memory = memoryPlantStore()
  await register(app, {
    store: {
      create: async (plant, deadline) => {
        users.push(requestContext.get('user' as never))
        return memory.create(plant, deadline)
      }
    }
  })
  await keepsTheContract(t, app)
  const headers = { 'content-encoding': 'gzip', origin: 'http://a' }
  const response = await create(app, '/plants', gzipSync(JSON.stringify(PLANT)), headers)
  t.equal(response.statusCode, 400, 'a compressed body is read, and its id is taken')
  t.match(response.headers, { 'x-frame-options': 'SAMEORIGIN', 'access-control-allow-origin': '*' })
  const compressed = await create(app, '/plants', { ...PLANT, id: 5 }, { 'accept-encoding': 'gzip' })
  t.equal(compressed.headers['content-encoding'], 'gzip')
  t.strictSame(new Set(users), new Set(['ann']), 'the context of the request reaches the store')
})

t.test('@fastify/jwt can decide on tokens', async t => {
  const app = host(t)
  await app.register(jwt, { secret: 'a-secret-of-the-host' })
  await register(app, { tokens: async (_token, request) => request.jwtVerify().then(() => true, () => false) })
  await app.ready()
  const authorization = `Bearer ${app.jwt.sign({ user: 'ann' })}`
  answersPlant(t, await create(app, '/plants', PLANT, { authorization }), { name: 'Ficus' })
  t.equal((await create(app, '/plants', PLANT, { authorization: `Bearer ${TOKEN}` })).statusCode, 401)
})
