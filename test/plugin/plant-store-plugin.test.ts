import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { join } from 'node:path'
import bearerAuth from '@fastify/bearer-auth'
import fastify from 'fastify'
import t from 'tap'
import plantStore, { memoryPlantStore, PlantNotStored, PlantOutcomeUnknown, sqlitePlantStore, StoreUnusable, type CreateOutcome, type PlantStore, type PlantStoreOptions } from '../../src/index.js'
import { limits } from '../../src/options.js'
import { host, keepsTheContract, PLANT, tokens } from '../support/http/hosts.js'
import { listen, RawConnection } from '../support/http/raw-connection.js'
import { answersError, answersPlant, create, HEAD, TOKEN } from '../support/http/service.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'

const failing = (): PlantStore => ({ create: async () => { throw new Error('internal detail') } })

t.test('the plugin fulfills the contract in a plain host, with inject and over a socket', async t => {
  const app = host(t)
  const store = memoryPlantStore()
  await app.register(plantStore, { store, tokens })
  await keepsTheContract(t, app)
  t.strictSame([...store.plants.values()], [{ id: 1n, name: 'Ficus', tag: 'tree' }, { id: 9007199254740993n, name: 'Fern' }])

  const connection = await RawConnection.open(t, await listen(app))
  const { status, headers, body } = await connection.write(...post('{"id":2,"name":"Ficus"}')).answer()
  t.strictSame([status, body], [200, '{"name":"Ficus"}'])
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  connection.socket.destroy()
})

t.test('the plugin adds one route: all other methods and paths belong to the host', async t => {
  const app = host(t)
  const routes: [url: string, method: unknown][] = []
  app.addHook('onRoute', ({ url, method }) => { routes.push([url, method]) })
  app.setNotFoundHandler((_request, reply) => { reply.code(418).send('the host\'s') })
  await app.register(plantStore, { prefix: '/v1', store: memoryPlantStore(), tokens })
  t.strictSame(routes, [['/v1/plants', 'POST']])
  app.get('/v1/plants', async () => ['the host\'s list'])
  app.get('/fails', async () => { throw new Error('the host\'s') })
  app.post('/own', { schema: { body: { type: 'object', properties: { id: { type: 'integer' } } } } }, async ({ body }) => body)
  t.strictSame((await app.inject({ url: '/v1/plants' })).json(), ['the host\'s list'])
  t.strictSame((await app.inject({ method: 'POST', url: '/own', payload: { id: '12' } })).json(), { id: 12 }, 'parsed and coerced as before')
  t.match((await app.inject({ url: '/fails' })).json(), { statusCode: 500, message: 'the host\'s' })
  for (const [method, url] of [['PUT', '/v1/plants'], ['GET', '/v1/nowhere'], ['GET', '/nowhere']] as const) {
    t.equal((await app.inject({ method, url })).statusCode, 418, `${method} ${url}`)
  }
  await keepsTheContract(t, app, '/v1/plants')
})

t.test('every prefix that Fastify accepts works, even with parameters, and any spelling of the path that its router accepts', async t => {
  for (const [prefix, url] of [['/', '/plants'], ['v1', '/v1/plants'], ['/a/b', '/a/b/plants'], ['/v1/', '/v1/plants']] as const) {
    const app = host(t)
    await app.register(plantStore, { prefix, store: memoryPlantStore(), tokens })
    await keepsTheContract(t, app, url)
  }
  const ignored = { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, useSemicolonDelimiter: true }
  const app = host(t, { routerOptions: { caseSensitive: false, ...ignored } })
  await app.register(plantStore, { prefix: '/:tenant', store: memoryPlantStore(), tokens: (token, { params }) => `token-of-${Object.values(Object(params))[0]}` === token })
  const authorization = 'Bearer token-of-green'
  for (const url of ['/green/plants', '/green/plants/', '/green/Plants', '//green//plants', '/green/plants;a=b', '/green/pl%61nts?a=b']) {
    answersPlant(t, await create(app, url, PLANT, { authorization }), { name: 'Ficus' }, url)
  }
  answersError(t, await create(app, '/red/plants', PLANT, { authorization }), 40102, /not accepted/)
})

t.test('two registrations coexist, each with its own store, tokens and limits', async t => {
  const app = host(t)
  const [first, second] = [memoryPlantStore(), memoryPlantStore()]
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
  t.strictSame([[...first.plants.keys()], [...second.plants.keys()]], [[1n], [2n]])
})

t.test('a host\'s own use of @fastify/bearer-auth is not affected', async t => {
  for (const addHook of [false, undefined]) {
    const app = host(t)
    await app.register(async scope => {
      await scope.register(bearerAuth, { keys: ['the-token-of-the-host'], addHook })
      scope.get('/own', { ...(scope.verifyBearerAuth && { onRequest: scope.verifyBearerAuth }) }, async () => 'own')
      if (addHook === false) await scope.register(plantStore, { store: memoryPlantStore(), tokens })
    })
    if (addHook !== false) await app.register(plantStore, { store: memoryPlantStore(), tokens })
    await keepsTheContract(t, app)
    t.equal((await app.inject({ url: '/own', headers: { authorization: 'Bearer the-token-of-the-host' } })).body, 'own')
    t.equal((await app.inject({ url: '/own', headers: { authorization: `Bearer ${TOKEN}` } })).statusCode, 401)
    answersError(t, await create(app, '/plants', PLANT, { authorization: 'Bearer the-token-of-the-host' }), 40102, /not accepted/)
  }
})

t.test('a token function gets the request with the host\'s decorators', async t => {
  const app = host(t)
  app.decorateRequest('tenant', '')
  app.addHook('onRequest', async request => { request.setDecorator('tenant', request.headers['x-tenant']) })
  await app.register(plantStore, { store: memoryPlantStore(), tokens: (token, request) => token === `token-of-${request.getDecorator<string>('tenant')}` })
  answersPlant(t, await create(app, '/plants', PLANT, { 'x-tenant': 'green', authorization: 'Bearer token-of-green' }), { name: 'Ficus' })
  answersError(t, await create(app, '/plants', PLANT, { 'x-tenant': 'red', authorization: 'Bearer token-of-green' }), 40102, /not accepted/)
})

t.test('faults are logged by the host\'s request logger, at its level, without body or token', async t => {
  const lines: string[] = []
  const app = host(t, { logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } })
  await app.register(plantStore, { store: failing(), tokens })
  const response = await create(app, '/plants', { id: 1, name: 'a name that no log may contain' })
  answersError(t, response, 50001, /^The service failed/)
  t.equal(response.headers['x-request-id'], 'req-1')
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0] as string), { level: 50, reqId: 'req-1', statusCode: 500, err: { message: 'internal detail' } })
  t.notMatch(lines[0], /no log may contain/)
  t.notOk(lines.join().includes(TOKEN))
})

t.test('the plugin opens and closes a store, unless the host has opened it', async t => {
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
  for (const url of ['/a/plants', '/b/plants']) await keepsTheContract(t, app, url)
  await app.close()
  t.strictSame(calls.splice(0), ['opened', 'found open', 'closed'], 'two registrations open it once, and close it once')

  await store.open?.()
  const second = host(t)
  await second.register(plantStore, { store, tokens })
  await second.ready()
  await second.close()
  t.strictSame(calls, ['opened', 'found open'], 'a store opened by the host stays open')

  const third = host(t)
  await third.register(plantStore, { store: { create: store.create, open: async () => true }, tokens })
  await third.ready()
  await t.resolves(third.close(), 'a store without close')
})

t.test('a store that opens only after the host\'s pluginTimeout is closed with the host', async t => {
  const calls: string[] = []
  let open = (_isOpened: boolean): void => {}
  const store: PlantStore = {
    create: async () => 'stored',
    open: () => new Promise(resolve => { open = resolve }),
    async close () { calls.push('closed') }
  }
  const app = host(t, { pluginTimeout: 500 })
  app.register(plantStore, { store, tokens })
  await t.rejects(async () => { await app.ready() }, { code: 'FST_ERR_PLUGIN_TIMEOUT' })
  const closed = app.close()
  open(true)
  await closed
  t.strictSame(calls, ['closed'])
})

t.test('a store whose open never settles: the app does not start, and closes', async t => {
  let isClosed = false
  const store: PlantStore = {
    create: async () => 'stored', open: () => new Promise(() => {}), async close () { isClosed = true }
  }
  const app = host(t, { pluginTimeout: 300 })
  app.register(plantStore, { store, tokens })
  await t.rejects(async () => { await app.ready() }, { code: 'FST_ERR_PLUGIN_TIMEOUT' })
  await app.close()
  t.notOk(isClosed, 'it was not opened')
})

t.test('a store whose open throws or rejects with anything: the app does not start, says why, and closes', async t => {
  const thrown: unknown[] = [new Error('no'), undefined, null, 'no', 7]
  for (const value of thrown) {
    for (const open of [() => { throw value }, async () => { throw value }]) {
      const app = host(t)
      app.register(plantStore, { store: { create: async () => 'stored', open }, tokens })
      const message = value instanceof Error ? 'no' : `the store could not be opened: ${String(value)}`
      await t.rejects(async () => { await app.ready() }, { message })
      await t.resolves(app.close())
    }
  }
})

t.test('a store whose close throws, rejects or never settles: close ends, with the reason, and closes the rest', async t => {
  const closes: [message: string, close: () => Promise<void>][] = [
    ['no', () => { throw new Error('no') }],
    ['no', async () => { throw new Error('no') }],
    ['the store did not close within 500 ms', () => new Promise(() => {})]
  ]
  for (const [message, close] of closes) {
    const app = fastify()
    let isRestClosed = false
    app.addHook('onClose', async () => { isRestClosed = true })
    const store: PlantStore = { create: async () => 'stored', open: async () => true, close }
    await app.register(plantStore, { store, tokens, storeTimeout: 500 })
    await t.rejects(app.close(), { message })
    t.ok(isRestClosed)
  }
})

t.test('a store that throws, rejects with no Error or resolves with garbage: its own requests get 500', async t => {
  const garbage = 'garbage' as CreateOutcome
  const outcomes: Record<string, () => Promise<CreateOutcome>> = {
    throws: () => { throw new Error('secret detail') },
    'throws undefined': () => { throw undefined }, // eslint-disable-line no-throw-literal
    'rejects with undefined': async () => await Promise.reject(undefined), // eslint-disable-line prefer-promise-reject-errors
    'rejects with null': async () => await Promise.reject(null), // eslint-disable-line prefer-promise-reject-errors
    'rejects with a string': async () => await Promise.reject('secret detail'), // eslint-disable-line prefer-promise-reject-errors
    'resolves with a string': async () => garbage,
    'resolves with undefined': async () => undefined as unknown as CreateOutcome,
    'returns a string': () => garbage as unknown as Promise<CreateOutcome>
  }
  const store: PlantStore = { create: ({ name }) => outcomes[name]?.() ?? Promise.resolve('stored') }
  const app = host(t)
  await app.register(plantStore, { store, tokens })
  for (const name of Object.keys(outcomes)) {
    const [failed, stored] = await Promise.all([
      create(app, '/plants', { id: 1, name }), create(app, '/plants', { id: 2, name: 'Fern' })
    ])
    answersError(t, failed, 50001, /^The service failed and the plant may have been stored/, name)
    t.notMatch(failed.body, 'secret')
    answersPlant(t, stored, { name: 'Fern' }, name)
  }
})

t.test('with the embedded store, a request in flight while the host closes is stored and gets its response', async t => {
  const path = join(t.testdir(), 'plants.db')
  const app = host(t)
  await app.register(plantStore, { store: sqlitePlantStore({ path }), tokens })
  const connection = await RawConnection.open(t, await listen(app))
  const [body, rest] = ['{"id":1,', '"name":"Ficus"}']
  connection.write(...post(body, body.length + rest.length))
  await once(app.server, 'request')
  const closed = app.close()
  connection.write(rest)
  t.match(await connection.answer(), { status: 200, body: '{"name":"Ficus"}' })
  connection.socket.destroy()
  await closed
  t.strictSame(plantsInFile(path), new Map([[1n, { name: 'Ficus' }]]))
})

t.test('invalid options reject the registration with a message that says what is allowed, and holds no token', async t => {
  const register = async (options: object) => {
    const all = { store: memoryPlantStore(), tokens, ...options } as PlantStoreOptions
    await host(t).register(plantStore, all)
  }
  const refuses = (options: object, message: RegExp) => t.rejects(register(options), { name: 'TypeError', message })
  for (const store of [undefined, null, {}, 'plants.db', { create: true }]) {
    await refuses({ store }, /^plant-store: the option store must be a PlantStore, for example sqlitePlantStore/)
  }
  for (const tokens of [undefined, null, 12, {}, 'one-secret-string']) {
    await refuses({ tokens }, /^plant-store: the option tokens must be a list of access tokens, such as \['an-access-token-of-yours'\], or a function \(token, request\) => boolean$/)
  }
  await refuses({ tokens: [] }, /^plant-store: the option tokens: the list is empty: there must be at least one access token$/)
  for (const tokens of [['fine', 'not a secret'], new Set(['fine', 12])]) {
    await refuses({ tokens }, /^plant-store: the option tokens: access token 2 of 2 is not a b64token ((?!secret).)*$/)
  }
  for (const [name, { minimum, maximum }] of Object.entries(limits)) {
    const message = RegExp(`^plant-store: the option ${name} must be an integer from ${minimum} to ${maximum}$`)
    for (const value of [minimum - 1, maximum + 1, 1.5, NaN, '10']) await refuses({ [name]: value }, message)
    for (const value of [minimum, maximum, undefined]) await register({ [name]: value, tokens: new Set(tokens) })
  }
  const open = async () => { throw new StoreUnusable('another program\'s') }
  await t.rejects(register({ store: { ...failing(), open } }), StoreUnusable)
})

t.test('an onError hook can tell the errors of the plugin apart by their code, which is never in the response', async t => {
  const app = host(t)
  const seen: unknown[] = []
  app.addHook('onError', async (_request, _reply, error) => { seen.push(error.code) })
  await app.register(plantStore, { store: memoryPlantStore(), tokens, bodyLimit: 60 })
  await create(app, '/plants', PLANT)
  const refused = [
    await create(app, '/plants', { ...PLANT, name: 'Fern' }),
    await create(app, '/plants', { id: 1 }),
    await create(app, '/plants', PLANT, { 'content-type': 'not a media type' }),
    await create(app, '/plants', PLANT, { authorization: undefined })
  ]
  t.strictSame(seen, [
    'PLANT_STORE_ID_TAKEN', 'PLANT_STORE_PLANT_INVALID', 'FST_ERR_CTP_INVALID_MEDIA_TYPE', 'PLANT_STORE_CREDENTIALS_MISSING'
  ])
  for (const { body } of refused) t.notMatch(body, 'PLANT_STORE')
})

t.test('the diagnostics channels report each create request and its outcome', async t => {
  const starts: unknown[] = []
  const ends: unknown[] = []
  const start = (message: unknown): void => { starts.push({ ...Object(message) }) }
  const end = (message: unknown): void => { ends.push({ ...Object(message) }) }
  subscribe('plant-store:create:start', start)
  subscribe('plant-store:create:end', end)
  t.teardown(() => { unsubscribe('plant-store:create:start', start); unsubscribe('plant-store:create:end', end) })
  const results = ['stored', 'same', 'taken', new PlantNotStored('full'), new PlantOutcomeUnknown('lost'), new Error('fault')] as const
  const store: PlantStore = {
    async create ({ id }) {
      const result = results[Number(id)] ?? 'stored'
      if (result instanceof Error) throw result
      return result
    }
  }
  const app = host(t)
  await app.register(plantStore, { store, tokens })
  for (const id of results.keys()) await create(app, '/plants', { id, name: 'Ficus' })
  await create(app, '/plants', '{')
  t.match(starts, results.map(() => ({ pending: 1, outcome: undefined })))
  t.match(ends, ['stored', 'same', 'taken', 'not_stored', 'unknown', 'failed'].map(outcome => ({ pending: 1, outcome })), 'each counts until its response')
  unsubscribe('plant-store:create:end', end)
  await create(app, '/plants', { id: 7, name: 'Ficus' })
  t.equal(starts.length, results.length + 1, 'each channel is independent of the other')
})

t.test('the plugin declares its name and the supported versions of Fastify', async t => {
  t.match(Object.getOwnPropertyDescriptor(plantStore, Symbol.for('plugin-meta'))?.value, { name: 'plant-store', fastify: '>=5.11.2 <6' })
  const app = host(t)
  const names = new Set<string>()
  app.addHook('onRoute', function () { names.add(this.pluginName.split(' -> ')[0] ?? '') })
  app.register(plantStore, { store: memoryPlantStore(), tokens })
  await app.ready()
  t.strictSame([...names], ['plant-store'])
  t.match(app.printPlugins(), /plant-store/)
})

function post (body: string, length = Buffer.byteLength(body)): string[] {
  return [...HEAD, `Content-Length: ${length}`, '', body]
}
