import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify, { type FastifyInstance } from 'fastify'
import swagger from '@fastify/swagger'
import t, { type Test } from 'tap'
import plantStore, { sqlitePlantStore, PlantNotStored, PlantPerhapsStored, StoreUnusable, mongoPlantStore, type PlantStore, type PlantStoreOptions } from '../src/index.js'
import { forgetfulStore } from './forgetful-store.js'
import { listen, RawConnection } from './raw-http.js'
import { answersError, answersPlant, create, TOKEN } from './service.js'
import { plantsInFile } from './sqlite-file.js'

const PLANT = { id: 1, name: 'Ficus' }
const tokens = [TOKEN]

function host (t: Test, options = {}): FastifyInstance {
  const app = fastify({ logger: false, ...options })
  t.teardown(() => app.close())
  return app
}

/** The contract in a few rows: what a host could spoil. */
async function keepsTheContract (t: Test, app: FastifyInstance, url = '/plants'): Promise<void> {
  answersPlant(t, await create(app, url, { id: 1, name: 'Ficus', tag: 'tree', more: 1 }), { name: 'Ficus', tag: 'tree' })
  answersPlant(t, await create(app, url, '{"id":9007199254740993,"name":"Fern"}'), { name: 'Fern' })
  answersError(t, await create(app, url), 40001, /^The request has no body/)
  answersError(t, await create(app, url, '{'), 40002, /^The body is not acceptable JSON/)
  answersError(t, await create(app, url, '{"__proto__":{}}'), 40002, /^The body is not acceptable JSON/)
  for (const id of ['"1"', 'null', 'true', '1.5', '9223372036854775808']) {
    answersError(t, await create(app, url, `{"id":${id},"name":"x"}`), 40003, /^id must be an integer/, `id ${id}`)
  }
  answersError(t, await create(app, url, '{"id":1,"name":null}'), 40003, /^name must be a string/)
  answersError(t, await create(app, url, PLANT, { authorization: 'Bearer an-unknown-token' }), 40102, /not accepted/)
  const missing = await create(app, url, PLANT, { authorization: undefined })
  answersError(t, missing, 40101, /^No well-formed credentials/)
  t.equal(missing.headers['www-authenticate'], 'Bearer realm="plant-store"')
  const get = await app.inject({ url })
  answersError(t, get, 40501, /POST only/)
  t.equal(get.headers.allow, 'POST')
  answersError(t, await create(app, url, 'x', { 'content-type': 'text/plain' }), 41501, /must be JSON/)
}

t.test('the plugin keeps the contract in a plain host, by inject and over a socket', async t => {
  const app = host(t)
  const store = forgetfulStore()
  await app.register(plantStore, { store, tokens })
  await keepsTheContract(t, app)
  t.strictSame(store.plants, [{ id: 1n, name: 'Ficus', tag: 'tree' }, { id: 9007199254740993n, name: 'Fern' }])

  const connection = await RawConnection.open(t, await listen(app))
  const body = JSON.stringify(PLANT)
  const { status, headers, body: answer } = await connection.write(
    'POST /plants HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json', `Content-Length: ${body.length}`, '', body).answer()
  t.strictSame([status, answer], [200, '{"name":"Ficus"}'])
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  connection.socket.destroy()
})

t.test('nothing of a host reaches it, and the host\'s own routes go on as they were', async t => {
  const app = host(t, { ajv: { customOptions: { coerceTypes: true, removeAdditional: 'all', useDefaults: true } }, bodyLimit: 5, onProtoPoisoning: 'ignore' })
  app.setValidatorCompiler(() => () => ({ error: new Error('the host\'s validator refuses all') }))
  app.setSerializerCompiler(() => () => '"the host\'s serializer"')
  app.setReplySerializer(() => '"the host\'s reply serializer"')
  app.setSchemaErrorFormatter(() => new Error('the host\'s formatter'))
  app.setErrorHandler((_error, _request, reply) => { reply.code(418).send('the host\'s error handler') })
  app.setNotFoundHandler((_request, reply) => { reply.code(418).send('the host\'s not-found handler') })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => { done(new Error('the host\'s parser')) })
  const called: string[] = []
  for (const name of ['preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onError'] as const) {
    app.addHook(name as 'preHandler', async () => {
      called.push(name)
      throw new Error(`the host's ${name}`)
    })
  }
  await app.register(plantStore, { prefix: '/v1', store: forgetfulStore(), tokens })
  app.get('/own', async () => 'own')
  await keepsTheContract(t, app, '/v1/plants')
  t.strictSame(called, [], 'no hook of the host saw it')
  t.equal((await app.inject({ url: '/own' })).statusCode, 418)
  t.equal((await app.inject({ url: '/nowhere' })).statusCode, 418)
  t.ok(called.length > 0)
})

t.test('what lies below the prefix is the plugin\'s too, with or without a body', async t => {
  const app = host(t)
  app.setNotFoundHandler((_request, reply) => { reply.code(418).send('the host\'s not-found handler') })
  await app.register(plantStore, { prefix: '/v1', store: forgetfulStore(), tokens })
  answersError(t, await app.inject({ url: '/v1/nowhere' }), 40401, /nothing at this path/)
  answersError(t, await create(app, '/v1/nowhere', undefined, { 'content-type': undefined }), 40401, /nothing at this path/)
  t.equal((await app.inject({ url: '/nowhere' })).statusCode, 418)

  const answer = await Promise.race([create(app, '/v1/nowhere', PLANT), sleep(2_000)])
  t.ok(answer, 'a body there does not make the answer wait for ever')
  if (answer !== undefined) answersError(t, answer, 40401, /nothing at this path/)
})

t.test('no hook of the host spoils what is answered below the prefix', async t => {
  for (const name of ['preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend'] as const) {
    const app = host(t)
    app.addHook(name as 'preHandler', async () => { throw new Error(`the host's ${name}`) })
    await app.register(plantStore, { prefix: '/v1', store: forgetfulStore(), tokens })
    answersError(t, await app.inject({ url: '/v1/nowhere' }), 40401, /nothing at this path/, name)
  }
})

t.test('a host\'s onRequest hooks come first: they may refuse, and their headers are kept', async t => {
  const app = host(t)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('set-cookie', ['a=1', 'b=2'])
    if (request.headers['x-forbidden'] !== undefined) return reply.code(403).send('not here')
  })
  const store = forgetfulStore()
  await app.register(plantStore, { store, tokens })
  const response = await create(app, '/plants', PLANT)
  answersPlant(t, response, { name: 'Ficus' })
  t.match(response.headers['x-request-id'], /^req-/)
  t.strictSame(response.headers['set-cookie'], ['a=1', 'b=2'])
  t.match((await create(app, '/plants', '{')).headers['x-request-id'], /^req-/, 'also with a refusal')
  t.equal((await create(app, '/plants', PLANT, { 'x-forbidden': '1' })).statusCode, 403)
  t.equal(store.plants.length, 1)
})

t.test('a host without a plugin\'s prefix keeps its not-found handler', async t => {
  const app = host(t)
  await app.register(plantStore, { store: forgetfulStore(), tokens })
  app.setNotFoundHandler((_request, reply) => { reply.code(404).send('the host\'s') })
  t.equal((await app.inject({ url: '/nowhere' })).body, 'the host\'s')
  answersError(t, await app.inject({ method: 'PUT', url: '/plants' }), 40501, /POST only/)
})

t.test('two registrations live side by side, each with its own store, tokens and limits', async t => {
  const app = host(t)
  const [first, second] = [forgetfulStore(), forgetfulStore()]
  await app.register(plantStore, { prefix: '/a', store: first, tokens: ['the-first-token-of-all'], bodyLimit: 20 })
  await app.register(async scope => {
    await scope.register(plantStore, { prefix: '/b', store: second, tokens: async token => token === 'the-other-token' })
  }, { prefix: '/inner' })
  const by = (token: string) => ({ authorization: `Bearer ${token}` })
  answersPlant(t, await create(app, '/a/plants', '{"id":1,"name":"A"}', by('the-first-token-of-all')), { name: 'A' })
  answersPlant(t, await create(app, '/inner/b/plants', { id: 2, name: 'A longer name' }, by('the-other-token')), { name: 'A longer name' })
  answersError(t, await create(app, '/a/plants', { id: 1, name: 'A longer name' }, by('the-first-token-of-all')), 41301, /too large/)
  answersError(t, await create(app, '/a/plants', PLANT, by('the-other-token')), 40102, /not accepted/)
  answersError(t, await create(app, '/inner/b/plants', PLANT, by('the-first-token-of-all')), 40102, /not accepted/)
  answersError(t, await app.inject({ url: '/inner/b/plants' }), 40501, /POST only/)
  t.strictSame([first.plants.map(({ id }) => id), second.plants.map(({ id }) => id)], [[1n], [2n]])
})

t.test('a token function sees the request as the host made it, with its decorations', async t => {
  const app = host(t)
  app.decorateRequest('tenant', '')
  app.addHook('onRequest', async request => { (request as unknown as { tenant: string }).tenant = request.headers['x-tenant'] as string })
  const seen: unknown[] = []
  await app.register(plantStore, {
    prefix: '/v1',
    store: forgetfulStore(),
    tokens: (token, request) => {
      seen.push((request as unknown as { tenant: string }).tenant, request.server.hasRequestDecorator('tenant'))
      return token === `token-of-${(request as unknown as { tenant: string }).tenant}`
    }
  })
  answersPlant(t, await create(app, '/v1/plants', PLANT, { 'x-tenant': 'green', authorization: 'Bearer token-of-green' }), { name: 'Ficus' })
  answersError(t, await create(app, '/v1/plants', PLANT, { 'x-tenant': 'red', authorization: 'Bearer token-of-green' }), 40102, /not accepted/)
  t.strictSame(seen, ['green', true, 'red', true])
})

t.test('a fault goes to the host\'s logger, without body or token', async t => {
  const lines: string[] = []
  const app = host(t, { logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } })
  await app.register(plantStore, { store: { create: async () => { throw new Error('inner detail') } }, tokens })
  const response = await create(app, '/plants', { id: 1, name: 'a name that no log may hold' })
  answersError(t, response, 50001, /^The service failed/)
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0] as string), { level: 50, reqId: 'req-1', statusCode: 500, err: { message: 'inner detail' } })
  t.notMatch(lines[0], /no log may hold/)
  t.notOk(lines.join().includes(TOKEN))
})

t.test('it opens and closes a store, unless the host has opened it', async t => {
  const calls: string[] = []
  let isOpen = false
  const store: PlantStore = {
    create: async () => 'stored',
    async open () { calls.push('open'); return isOpen ? false : (isOpen = true) },
    async close () { calls.push('close'); isOpen = false }
  }
  const app = host(t)
  await app.register(plantStore, { store, tokens })
  await app.ready()
  await app.close()
  t.strictSame(calls.splice(0), ['open', 'close'])

  await store.open?.()
  const second = host(t)
  await second.register(plantStore, { store, tokens })
  await second.ready()
  await second.close()
  t.strictSame(calls, ['open', 'open'], 'it is still the host\'s')

  const third = host(t)
  await third.register(plantStore, { store: { create: store.create, open: async () => true }, tokens })
  await third.ready()
  await t.resolves(third.close(), 'a store without close')
})

t.test('a host with the embedded store, as the README has it', async t => {
  const path = join(t.testdir(), 'plants.db')
  const app = host(t)
  await app.register(plantStore, { prefix: '/v1', store: sqlitePlantStore({ path }), tokens })
  answersPlant(t, await create(app, '/v1/plants', PLANT), { name: 'Ficus' })
  await app.close()
  t.strictSame(plantsInFile(path), new Map([[1n, { name: 'Ficus' }]]))
})

t.test('wrong options stop the registration, and say what is allowed', async t => {
  for (const [options, message] of [
    [{}, /^plant-store: the option store must be a PlantStore/],
    [{ store: forgetfulStore() }, /^plant-store: the option tokens must be a list/],
    [{ store: forgetfulStore(), tokens, bodyLimit: 0 }, /^plant-store: the option bodyLimit must be an integer from 1 to 16000000$/]
  ] as [PlantStoreOptions, RegExp][]) {
    await t.rejects(Promise.resolve(host(t).register(plantStore, options)), { name: 'TypeError', message })
  }
  await t.rejects(Promise.resolve(host(t).register(plantStore, { tokens, store: { create: async () => 'stored', open: async () => { throw new StoreUnusable('another program\'s') } } })), StoreUnusable)
})

t.test('the host\'s @fastify/swagger sees the route', async t => {
  const app = host(t)
  await app.register(swagger, { openapi: {} })
  await app.register(plantStore, { prefix: '/v1', store: forgetfulStore(), tokens })
  await app.ready()
  const { paths } = app.swagger() as { paths: Record<string, object> }
  t.strictSame(Object.keys(paths), ['/v1/plants'])
  t.strictSame(Object.keys(paths['/v1/plants'] as object), ['post'])
})

t.test('the package exports what a host needs', async t => {
  t.type(plantStore, 'function')
  for (const exported of [sqlitePlantStore, mongoPlantStore, PlantNotStored, PlantPerhapsStored, StoreUnusable]) t.type(exported, 'function')
})
