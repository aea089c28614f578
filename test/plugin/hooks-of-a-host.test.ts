import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import type { FastifyServerOptions } from 'fastify'
import t from 'tap'
import plantStore, { memoryPlantStore, PlantNotStored, type PlantStore } from '../../src/index.js'
import { host, keepsTheContract, PLANT, tokens } from '../support/http/hosts.js'
import { listen, RawConnection } from '../support/http/raw-connection.js'
import { answersError, answersPlant, create, HEAD, TOKEN } from '../support/http/service.js'
import { until } from '../support/until.js'

const unusable = (what: string) => (): never => { throw new Error(`the host's ${what} was used`) }

t.test('parsers, validators, serializers and limits of the host do not affect plants', async t => {
  const settings: Record<string, FastifyServerOptions> = {
    ajv: { ajv: { customOptions: { coerceTypes: 'array', removeAdditional: 'all', allErrors: true }, onCreate: unusable('onCreate') } },
    schemaController: {
      schemaController: {
        bucket: () => ({ add: unusable('bucket'), getSchema: unusable('bucket'), getSchemas: () => ({}) }),
        compilersFactory: { buildValidator: unusable('validator'), buildSerializer: unusable('serializer') }
      }
    },
    genReqId: { genReqId: () => 'the host\'s', requestIdHeader: 'x-id' },
    bodyLimit: { bodyLimit: 1 },
    'poisoned keys': { onProtoPoisoning: 'ignore', onConstructorPoisoning: 'ignore' },
    closing: { return503OnClosing: false }
  }
  for (const [name, options] of Object.entries(settings)) {
    await t.test(name, async t => {
      const app = host(t, options)
      await app.register(plantStore, { prefix: '/v1', store: memoryPlantStore(), tokens })
      await keepsTheContract(t, app, '/v1/plants')
    })
  }
  await t.test('set on the instance', async t => {
    const app = host(t)
    app.setValidatorCompiler(() => () => ({ error: new Error('the host\'s validator refuses everything') }))
    app.setSerializerCompiler(() => () => '"the host\'s serializer"')
    app.setSchemaErrorFormatter(unusable('formatter'))
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => { done(new Error('the host\'s parser')) })
    await app.register(plantStore, { prefix: '/v1', store: memoryPlantStore(), tokens })
    app.post('/own', async () => 'own')
    await keepsTheContract(t, app, '/v1/plants')
    t.match((await app.inject({ method: 'POST', url: '/own', payload: {} })).statusCode, 500, 'the host\'s own routes use them')
  })
})

t.test('a reply serializer of the host serializes what its scope inherits, as on any route', async t => {
  const app = host(t)
  app.setReplySerializer((payload, statusCode) => JSON.stringify({ statusCode, payload }))
  await app.register(plantStore, { store: memoryPlantStore(), tokens })
  t.strictSame((await create(app, '/plants', PLANT)).json(), { statusCode: 200, payload: { name: 'Ficus' } })
})

t.test('a body that is refused ends the request before a preValidation hook of the host could read it', async t => {
  const app = host(t)
  let calls = 0
  app.addHook('preValidation', async request => {
    calls++
    Object(request.body).tag.toString()
  })
  await app.register(plantStore, { store: memoryPlantStore(), tokens, bodyLimit: 100 })
  answersError(t, await create(app, '/plants', '{'), 40002, /not acceptable JSON/)
  answersError(t, await create(app, '/plants', ''), 40001, /no body/)
  answersError(t, await create(app, '/plants', 'null'), 40003, /not a valid plant/)
  answersError(t, await create(app, '/plants', 'x'.repeat(101)), 41301, /too large/)
  answersError(t, await create(app, '/plants', '<plant/>', { 'content-type': 'text/xml' }), 41501, /must be JSON/)
  t.equal(calls, 0)
})

t.test('every hook of the host runs, once for each request and in order', async t => {
  const app = host(t)
  const called: string[] = []
  for (const name of ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onError', 'onResponse'] as const) {
    app.addHook(name as 'onRequest', (...all: unknown[]) => {
      called.push(name)
      const done = all.at(-1)
      if (typeof done === 'function') done()
    })
  }
  await app.register(plantStore, { store: memoryPlantStore(), tokens })
  const seen = async (response: Promise<unknown>): Promise<string[]> => { await response; return called.splice(0) }
  t.strictSame(await seen(create(app, '/plants', PLANT)),
    ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onResponse'])
  t.strictSame(await seen(create(app, '/plants', { ...PLANT, name: 'Fern' })),
    ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'onError', 'preSerialization', 'onSend', 'onResponse'])
  t.strictSame(await seen(create(app, '/plants', '{')), ['onRequest', 'preParsing', 'onError', 'preSerialization', 'onSend', 'onResponse'])
  t.strictSame(await seen(create(app, '/plants', PLANT, { authorization: undefined })), ['onRequest', 'onError', 'preSerialization', 'onSend', 'onResponse'])
})

t.test('a response sent by a hook of the host is not changed, and nothing is stored', async t => {
  for (const hook of ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const) {
    const app = host(t)
    const store = memoryPlantStore()
    const bodyOf = (statusCode: number) => ({ statusCode, error: 'the host\'s', message: 'not here', detail: [1] })
    app.addHook(hook as 'onRequest', async ({ headers }, reply) => {
      const status = Number(headers['x-status'])
      return reply.code(status).header('x-host', '1').send(bodyOf(status))
    })
    await app.register(plantStore, { store, tokens })
    for (const status of [200, 400, 401, 403, 404, 413, 429, 500, 503, 504]) {
      const response = await create(app, '/plants', PLANT, { 'x-status': String(status) })
      t.strictSame([response.statusCode, response.headers['x-host'], response.json()], [status, '1', bodyOf(status)], `${hook} ${status}`)
    }
    t.equal(store.plants.size, 0)
  }
})

t.test('what a hook throws is answered as on the host\'s own routes, by its error handler or Fastify\'s, and nothing is stored', async t => {
  const error = Object.assign(new Error('no'), { statusCode: 401, code: 'HOST_NO' })
  const thrown = [error, { statusCode: 403, message: 'no' }, 'no', runInNewContext('new TypeError("no")')]
  for (const hook of ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const) {
    for (const own of [true, false]) {
      const app = host(t)
      if (own) {
        app.setErrorHandler((error: unknown, _request, reply) => { reply.code(418).send({ host: String(error) }) })
      }
      app.addHook(hook as 'onRequest', async ({ headers }) => { throw thrown[Number(headers['x-throws'])] })
      app.post('/own', async () => ({}))
      const store = memoryPlantStore()
      await app.register(plantStore, { store, tokens })
      for (const index of thrown.keys()) {
        const headers = { 'x-throws': String(index) }
        const [expected, response] = [await create(app, '/own', PLANT, headers), await create(app, '/plants', PLANT, headers)]
        t.strictSame([response.statusCode, response.body], [expected.statusCode, expected.body], `${hook} ${own} ${index}`)
        t.ok(response.statusCode >= 400)
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
  await app.register(plantStore, { store: memoryPlantStore(), tokens })
  for (const [url, body] of [['/own', PLANT], ['/plants', PLANT], ['/plants', '{']] as const) {
    const { statusCode, headers, body: answer } = await create(app, url, body)
    t.strictSame([statusCode, headers['content-type'], answer], [418, 'application/json; charset=utf-8', '{"host":"no"}'], url)
  }
})

t.test('headers set by a hook are kept, and a preSerialization hook may change the response, even of a refused request', async t => {
  const app = host(t)
  app.addHook('onRequest', async (_request, reply) => { reply.header('set-cookie', ['a=1', 'b=2']).header('x-host', '1') })
  app.addHook('preSerialization', async (_request, _reply, payload) => ({ data: payload }))
  app.addHook('onSend', async (_request, reply) => { reply.header('etag', '"1"') })
  await app.register(plantStore, { store: memoryPlantStore(), tokens })
  for (const [body, expected] of [[{ ...PLANT, tag: 'tree' }, { name: 'Ficus', tag: 'tree' }], ['{', { error: 40002 }]] as const) {
    const response = await create(app, '/plants', body)
    t.strictSame([response.headers['set-cookie'], response.headers['x-host'], response.headers.etag], [['a=1', 'b=2'], '1', '"1"'])
    t.match(response.json(), { data: expected })
  }
})

t.test('what hooks of the host make of a body is the plant, as on any route', async t => {
  const app = host(t)
  app.addHook('preValidation', async ({ body }) => { Object.assign(Object(body), { tag: 'before validation', more: 1 }) })
  app.addHook('preHandler', async request => {
    t.strictSame(request.body, { id: 1n, name: 'Ficus', tag: 'before validation' }, 'only the fields of a plant are left')
    request.body = { ...Object(request.body), name: 'Fern' }
  })
  const store = memoryPlantStore()
  await app.register(plantStore, { store, tokens })
  answersPlant(t, await create(app, '/plants', PLANT), { name: 'Fern', tag: 'before validation' })
  t.strictSame([...store.plants.values()], [{ id: 1n, name: 'Fern', tag: 'before validation' }])
})

t.test('a preValidation hook gets the parsed body; a preParsing hook may return another stream', async t => {
  const app = host(t)
  const seen: unknown[] = []
  app.addHook('preValidation', async request => { seen.push(request.body) })
  app.addHook('preParsing', async (request, _reply, payload) => {
    if (request.headers['x-broken'] !== undefined) return new Readable({ read () { this.destroy(Object.assign(new Error('broken'), { statusCode: Number(request.headers['x-broken']) || undefined })) } })
    return request.headers['x-other'] === undefined ? payload : Readable.from(['{"id":2,', '"name":"Other"}'])
  })
  await app.register(plantStore, { store: memoryPlantStore(), tokens })
  answersPlant(t, await create(app, '/plants', PLANT), { name: 'Ficus' })
  answersPlant(t, await create(app, '/plants', PLANT, { 'x-other': '1' }), { name: 'Other' })
  t.strictSame(seen, [{ id: 1n, name: 'Ficus' }, { id: 2n, name: 'Other' }])
  for (const [own, statusCode] of [['none', 400], ['413', 413]] as const) {
    t.match((await create(app, '/plants', PLANT, { 'x-broken': own })).json(), { statusCode, message: 'broken' }, 'as on a route of the host')
  }
})

t.test('a body over a socket may arrive with the headers, after them, in parts, or before a hook of the host completes', async t => {
  const app = host(t)
  app.addHook('onRequest', async ({ headers, raw }) => {
    if (headers['x-late'] !== undefined) await until(() => raw.complete)
  })
  await app.register(plantStore, { store: memoryPlantStore(), tokens })
  const connection = await RawConnection.open(t, await listen(app))
  const body = JSON.stringify(PLANT)
  const length = `Content-Length: ${body.length}`
  const chunks = [`9\r\n${body.slice(0, 9)}\r\n`, `${(body.length - 9).toString(16)}\r\n${body.slice(9)}\r\n0\r\n\r\n`]
  const requests: [header: string, ...parts: string[]][] = [
    [`${length}\r\n\r\n${body}`],
    [`${length}\r\n`, body],
    [`${length}\r\n`, body.slice(0, 9), body.slice(9)],
    ['Transfer-Encoding: chunked\r\n', ...chunks],
    [`X-Late: 1\r\n${length}\r\n`, body]
  ]
  for (const [header, ...parts] of requests) {
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
  app.addHook('preHandler', async () => { see('preHandler') })
  app.addHook('onError', async () => { see('onError') })
  app.addHook('onSend', async () => { see('onSend') })
  app.addHook('onResponse', async () => { see('onResponse') })
  await app.register(plantStore, { store, tokens, storeTimeout: 1_000 })
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
    await app.register(plantStore, { store, tokens })
    t.match((await create(app, '/plants', PLANT)).json(), { statusCode: 503, code: 'FST_ERR_HANDLER_TIMEOUT' })
  })
  await t.test('logLevel', async t => {
    const lines: string[] = []
    const app = host(t, { logger: { level: 'info', stream: { write: (line: string) => { lines.push(line) } } } })
    const store: PlantStore = { create: async () => { throw new PlantNotStored('full') } }
    await app.register(plantStore, { prefix: '/quiet', logLevel: 'error', store, tokens })
    await app.register(plantStore, { prefix: '/usual', store, tokens })
    await create(app, '/quiet/plants', PLANT)
    t.strictSame(lines.splice(0), [])
    await create(app, '/usual/plants', PLANT)
    t.strictSame(lines.map(line => JSON.parse(line).msg), ['incoming request', 'This request did not store the plant: retry later', 'request completed'])
  })
  await t.test('onRequestAbort', async t => {
    const app = host(t)
    const aborted = new Promise<string>(resolve => { app.addHook('onRequestAbort', async ({ url }) => { resolve(url) }) })
    const store = memoryPlantStore()
    await app.register(plantStore, { store, tokens })
    const connection = await RawConnection.open(t, await listen(app))
    connection.write(...HEAD, 'Content-Length: 23', '', '{"id":1,')
    await once(app.server, 'request')
    connection.socket.destroy()
    t.equal(await aborted, '/plants')
    t.equal(store.plants.size, 0)
    await keepsTheContract(t, app)
  })
})
