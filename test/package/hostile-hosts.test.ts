import { setTimeout as sleep } from 'node:timers/promises'
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify'
import t from 'tap'
import plantStore, { sqlitePlantStore, type PlantStore } from '../../src/index.js'
import { plantSchema } from '../../src/plant-routes.js'
import { forgetfulStore } from '../forgetful-store.js'
import { listen, RawConnection } from '../raw-http.js'
import { answersError, answersPlant, create, TOKEN } from '../service.js'
import { plantsInFile } from '../sqlite-file.js'
import { host, keepsTheContract, PLANT, tokens } from './hosts.js'

const unusable = (what: string) => (): never => { throw new Error(`the host's ${what} was used`) }

t.test('no option of a host reaches it', async t => {
  const settings: Record<string, FastifyServerOptions> = {
    ajv: { ajv: { customOptions: { coerceTypes: 'array', removeAdditional: 'all', allErrors: true }, onCreate: unusable('onCreate') } },
    schemaController: {
      schemaController: { bucket: () => ({ add: unusable('bucket'), getSchema: unusable('bucket'), getSchemas: () => ({}) }), compilersFactory: { buildValidator: unusable('validator'), buildSerializer: unusable('serializer') } } as never
    },
    genReqId: { genReqId: () => 'the host\'s', requestIdHeader: 'x-id' },
    bodyLimit: { bodyLimit: 1 },
    'no HEAD routes': { exposeHeadRoutes: false },
    routerOptions: { routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 1 } },
    'poisoned keys': { onProtoPoisoning: 'ignore', onConstructorPoisoning: 'ignore' },
    'a handler\'s time': { handlerTimeout: 1 },
    closing: { return503OnClosing: false }
  }
  for (const [name, options] of Object.entries(settings)) {
    await t.test(name, async t => {
      const app = host(t, options)
      const slow = { create: async () => { await sleep(5); return 'stored' as const } }
      await app.register(plantStore, { prefix: '/v1', store: slow, tokens })
      await keepsTheContract(t, app, '/v1/plants')
      answersError(t, await app.inject({ url: '/v1/nowhere' }), 40401, /nothing at this path/)
    })
  }
})

t.test('whatever spelling of the path the host\'s router takes is the path of plants', async t => {
  const app = host(t, { routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, useSemicolonDelimiter: true } })
  await app.register(plantStore, { prefix: '/v1', store: forgetfulStore(), tokens })
  for (const url of ['/v1/plants/', '/V1/Plants', '//v1//plants', '/v1/plants;a=b', '/v1/pl%61nts?a=b']) {
    answersPlant(t, await create(app, url, PLANT), { name: 'Ficus' }, url)
    answersError(t, await app.inject({ url }), 40501, /POST only/, url)
  }
})

t.test('every prefix that Fastify takes is taken', async t => {
  for (const [prefix, url] of [['/', '/plants'], ['v1', '/v1/plants'], ['/a/b', '/a/b/plants'], ['/v1/', '/v1/plants']] as const) {
    const app = host(t)
    app.get('/own', async () => 'own')
    await app.register(plantStore, { prefix, store: forgetfulStore(), tokens })
    await keepsTheContract(t, app, url)
    t.equal((await app.inject({ url: '/own' })).body, 'own', prefix)
  }
  const root = host(t)
  root.setNotFoundHandler((_request, reply) => { reply.code(404).send('the host\'s') })
  await root.register(plantStore, { prefix: '/', store: forgetfulStore(), tokens })
  t.equal((await root.inject({ url: '/nowhere' })).body, 'the host\'s', 'the root is not the plugin\'s own')
})

t.test('a prefix may have parameters, which a token function sees', async t => {
  const app = host(t)
  const accounts: Record<string, string> = { green: 'the-token-of-green', red: 'the-token-of-red' }
  await app.register(plantStore, {
    prefix: '/:tenant', store: forgetfulStore(), tokens: (token, request) => accounts[(request.params as { tenant: string }).tenant] === token
  })
  answersPlant(t, await create(app, '/green/plants', PLANT, { authorization: 'Bearer the-token-of-green' }), { name: 'Ficus' })
  answersError(t, await create(app, '/red/plants', PLANT, { authorization: 'Bearer the-token-of-green' }), 40102, /not accepted/)
  answersError(t, await app.inject({ url: '/green/plants' }), 40501, /POST only/)
  answersError(t, await app.inject({ url: '/green/nowhere' }), 40401, /nothing at this path/)
})

t.test('what the host\'s onRoute hooks do to its routes changes nothing but the onRequest hooks', async t => {
  const app = host(t)
  const limited: string[] = []
  app.addHook('onRoute', route => {
    const { schema } = route as { schema?: { body?: { required?: string[], properties?: object }, response?: object } }
    if (schema?.body !== undefined) Object.assign(schema.body, { required: [], properties: {}, additionalProperties: false })
    if (schema?.response !== undefined) Object.assign(schema.response, { 200: { type: 'null' } })
    route.config = { ...route.config, theHosts: true } as never
    route.preHandler = unusable('preHandler')
    route.handler = unusable('handler')
    // As @fastify/rate-limit does.
    route.onRequest = [route.onRequest ?? [], async (request: { url: string }) => { limited.push(request.url) }].flat() as never
  })
  const before = JSON.stringify(plantSchema)
  await app.register(plantStore, { prefix: '/a', store: forgetfulStore(), tokens })
  await app.register(plantStore, { prefix: '/b', store: forgetfulStore(), tokens })
  await keepsTheContract(t, app, '/a/plants')
  limited.length = 0
  await keepsTheContract(t, app, '/b/plants')
  t.equal(limited.length, 9, 'each request met the hook')
  t.equal(JSON.stringify(plantSchema), before)
})

t.test('a hook that answers ends the request there', async t => {
  const app = host(t)
  const store = forgetfulStore()
  app.addHook('onRoute', route => {
    route.onRequest = (_request, reply) => { reply.code(429).send('too many') }
  })
  await app.register(plantStore, { prefix: '/v1', store, tokens })
  for (const url of ['/v1/plants', '/v1/nowhere']) t.equal((await create(app, url, PLANT)).statusCode, 429, url)
  t.equal(store.plants.length, 0)
})

t.test('the host sees its routes: POST with a schema, the rest without', async t => {
  const app = host(t)
  const routes: [url: string, methods: string, hidden: boolean][] = []
  app.addHook('onRoute', ({ url, method, schema }) => { routes.push([url, String(method), (schema as { hide?: boolean }).hide === true]) })
  await app.register(plantStore, { prefix: '/v1', store: forgetfulStore(), tokens })
  const { supportedMethods } = app
  t.strictSame(routes, [
    ['/v1/plants', 'POST', false], ['/v1/plants', String(supportedMethods.filter(method => method !== 'POST')), true], ['/v1/*', String(supportedMethods), true]
  ])
  t.ok(app.hasRoute({ method: 'POST', url: '/v1/plants' }))
})

t.test('a host\'s routes and not-found handler in the same prefix', async t => {
  const app = host(t)
  await app.register(async scope => { scope.get('/before', async () => 'before') }, { prefix: '/v1' })
  await app.register(plantStore, { prefix: '/v1', store: forgetfulStore(), tokens })
  await app.register(async scope => {
    scope.get('/after', async () => 'after')
    scope.setNotFoundHandler((_request, reply) => { reply.code(418).send('the host\'s') })
  }, { prefix: '/v1' })
  app.setNotFoundHandler((_request, reply) => { reply.code(418).send('the host\'s') })
  t.equal((await app.inject({ url: '/v1/before' })).body, 'before')
  t.equal((await app.inject({ url: '/v1/after' })).body, 'after')
  t.equal((await app.inject({ url: '/nowhere' })).statusCode, 418)
  answersError(t, await app.inject({ url: '/v1/nowhere' }), 40401, /nothing at this path/)
  await keepsTheContract(t, app, '/v1/plants')
})

t.test('a host with bearer authentication of its own, registered or decorated', async t => {
  const registered = host(t)
  await registered.register(bearerAuth, { keys: ['the-token-of-the-host'], addHook: false })
  registered.get('/own', { onRequest: registered.verifyBearerAuth as never }, async () => 'own')
  const decorated = host(t)
  decorated.decorate('verifyBearerAuth', unusable('verifyBearerAuth') as never)
  decorated.decorateRequest('body2', 'the host\'s')
  for (const app of [registered, decorated]) {
    await app.register(plantStore, { store: forgetfulStore(), tokens })
    await keepsTheContract(t, app)
  }
  t.equal((await registered.inject({ url: '/own', headers: { authorization: 'Bearer the-token-of-the-host' } })).body, 'own')
  t.equal((await registered.inject({ url: '/own', headers: { authorization: `Bearer ${TOKEN}` } })).statusCode, 401)
  answersError(t, await create(registered, '/plants', PLANT, { authorization: 'Bearer the-token-of-the-host' }), 40102, /not accepted/)
})

t.test('the host\'s onResponse hooks and its access log see each request, with what was answered', async t => {
  const lines: { reqId: string, msg: string, res?: { statusCode: number } }[] = []
  const app = host(t, { logger: { level: 'info', stream: { write: (line: string) => { lines.push(JSON.parse(line)) } } } })
  const seen: unknown[] = []
  app.addHook('onResponse', async (request, reply) => { seen.push([request.method, request.url, request.routeOptions.url, reply.statusCode]) })
  await app.register(plantStore, { prefix: '/v1', store: forgetfulStore(), tokens })
  await create(app, '/v1/plants?a=b', PLANT)
  await create(app, '/v1/plants', '{')
  await app.inject({ url: '/v1/plants' })
  await app.inject({ url: '/v1/nowhere' })
  t.strictSame(seen.splice(0), [
    ['POST', '/v1/plants?a=b', '/v1/plants', 200], ['POST', '/v1/plants', '/v1/plants', 400],
    ['GET', '/v1/plants', '/v1/plants', 405], ['GET', '/v1/nowhere', '/v1/*', 404]
  ])
  const completed = lines.filter(({ msg }) => msg === 'request completed')
  t.strictSame(completed.map(({ reqId, res }) => [reqId, res?.statusCode]), [['req-1', 200], ['req-2', 400], ['req-3', 405], ['req-4', 404]])
})

t.test('the host\'s onRequestAbort hook is told of a client that goes away, and the plant is stored', async t => {
  const app = host(t)
  let aborted = ''
  app.addHook('onRequestAbort', async request => { aborted = request.url })
  const store = forgetfulStore()
  await app.register(plantStore, { store, tokens })
  const connection = await RawConnection.open(t, await listen(app))
  connection.write('POST /plants HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json', 'Content-Length: 23', '', '{"id":1,')
  await sleep(50)
  connection.socket.destroy()
  for (let i = 0; i < 100 && aborted === ''; i++) await sleep(10) // eslint-disable-line no-unmodified-loop-condition
  t.equal(aborted, '/plants')
  t.strictSame(store.plants, [])
  await keepsTheContract(t, app)
})

t.test('faults are told from the host\'s level on, by its own logger', async t => {
  for (const [level, lines] of [['error', 1], ['fatal', 0]] as const) {
    const told: string[] = []
    const app = host(t, { logger: { level, stream: { write: (line: string) => { told.push(line) } } } })
    await app.register(plantStore, { store: { create: async () => { throw new Error('inner') } }, tokens })
    t.equal((await create(app, '/plants', PLANT)).statusCode, 500)
    t.equal(told.length, lines, level)
  }
  const told: unknown[] = []
  const tell = (...message: unknown[]): void => { told.push(message) }
  const loggerInstance = { level: 'info', fatal: tell, error: tell, warn: tell, info: () => {}, debug: () => {}, trace: () => {}, silent: () => {}, child: () => loggerInstance } as unknown as FastifyBaseLogger
  const app = host(t, { logger: undefined, loggerInstance })
  await app.register(plantStore, { store: { create: async () => { throw new Error('inner') } }, tokens })
  t.equal((await create(app, '/plants', PLANT)).statusCode, 500)
  t.equal(told.length, 1)
})

t.test('an answer is not compressed or tagged by the host\'s onSend hooks', async t => {
  const app = host(t)
  app.addHook('onSend', async (_request, reply, payload) => {
    reply.header('etag', '"1"').header('content-encoding', 'gzip')
    return payload
  })
  await app.register(plantStore, { store: forgetfulStore(), tokens })
  const { headers } = await create(app, '/plants', PLANT)
  t.strictSame([headers.etag, headers['content-encoding']], [undefined, undefined])
})

t.test('two registrations with one store open it once, and close it once', async t => {
  const calls: string[] = []
  let isOpen = false
  const store: PlantStore = {
    create: async () => isOpen ? 'stored' : 'taken',
    async open () { calls.push(isOpen ? 'found open' : 'opened'); return isOpen ? false : (isOpen = true) },
    async close () { calls.push('closed'); isOpen = false }
  }
  const app = host(t)
  await app.register(plantStore, { prefix: '/a', store, tokens })
  await app.register(plantStore, { prefix: '/b', store, tokens })
  await keepsTheContract(t, app, '/a/plants')
  await keepsTheContract(t, app, '/b/plants')
  await app.close()
  t.strictSame(calls, ['opened', 'found open', 'closed'])
})

t.test('a store that the host has opened is the host\'s to close, and serves on', async t => {
  const path = `${t.testdir()}/plants.db`
  const store = sqlitePlantStore({ path }) as Required<PlantStore>
  t.teardown(() => store.close())
  await store.open()
  const app = host(t)
  await app.register(plantStore, { store, tokens })
  answersPlant(t, await create(app, '/plants', PLANT), { name: 'Ficus' })
  await app.close()
  t.equal(await store.create({ id: 1n, name: 'Ficus' }, performance.now() + 10_000), 'same')
})

t.test('what is under way when the host closes is stored and answered', async t => {
  const path = `${t.testdir()}/plants.db`
  const app = host(t)
  await app.register(plantStore, { store: sqlitePlantStore({ path }), tokens })
  const connection = await RawConnection.open(t, await listen(app))
  connection.write('POST /plants HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json', 'Content-Length: 23', '', '{"id":1,')
  await sleep(50)
  const closed = app.close()
  await sleep(50)
  connection.write('"name":"Ficus"}')
  t.match(await connection.answer(), { status: 200, body: '{"name":"Ficus"}' })
  connection.socket.destroy()
  await closed
  t.strictSame(plantsInFile(path), new Map([[1n, { name: 'Ficus' }]]))
})

t.test('a host of another major version of Fastify is told so', async t => {
  t.match((plantStore as unknown as Record<symbol, unknown>)[Symbol.for('plugin-meta')], { name: 'plant-store', fastify: '5.x' })
  const app = host(t)
  app.register(plantStore, { store: forgetfulStore(), tokens })
  await app.ready()
  t.match(app.printPlugins(), /plant-store/)
})
