import { once } from 'node:events'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import bearerAuth from '@fastify/bearer-auth'
import fastify from 'fastify'
import t from 'tap'
import plantStore, {
  channels, memoryPlantStore, PlantNotStored, PlantOutcomeUnknown, sqlitePlantStore, StoreUnusable,
  type CreateOutcome, type NewPlant, type PlantStore
} from '../../src/index.js'
import { limits } from '../../src/options.js'
import { host, keepsTheContract, PLANT, register, tokens } from '../support/http/hosts.js'
import { listen, RawConnection } from '../support/http/raw-connection.js'
import { answersError, answersPlant, create, HEAD, TOKEN } from '../support/http/service.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'

const by = (token: string) => ({ authorization: `Bearer ${token}` })

t.test('the plugin fulfills the contract in a plain host, with inject and over a socket', async t => {
  const app = host(t)
  const store = await register(app)
  await keepsTheContract(t, app)
  t.strictSame([...store.plants.values()], [
    { id: 1n, name: 'Ficus', tag: 'tree' }, { id: 9007199254740993n, name: 'Fern' }
  ])
  const connection = await RawConnection.open(t, await listen(app))
  const answer = await connection.write(...HEAD, 'Content-Length: 23', '', '{"id":2,"name":"Ficus"}').answer()
  t.match(answer, { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
  t.equal(answer.body, '{"name":"Ficus"}')
  connection.socket.destroy()
})

t.test('the plugin adds one route: all other methods and paths belong to the host', async t => {
  const app = host(t)
  const routes: [url: string, method: unknown][] = []
  app.addHook('onRoute', ({ url, method }) => { routes.push([url, method]) })
  app.setNotFoundHandler((_request, reply) => { reply.code(418).send('the host\'s') })
  await register(app, { prefix: '/v1' })
  t.strictSame(routes, [['/v1/plants', 'POST']])
  app.get('/v1/plants', async () => ['the host\'s list'])
  app.get('/fails', async () => { throw new Error('the host\'s') })
  const schema = { body: { type: 'object', properties: { id: { type: 'integer' } } } }
  app.post('/own', { schema }, async ({ body }) => body)
  t.strictSame((await app.inject('/v1/plants')).json(), ['the host\'s list'])
  t.strictSame((await create(app, '/own', { id: '12' })).json(), { id: 12 }, 'parsed and coerced as before')
  t.match((await app.inject('/fails')).json(), { statusCode: 500, message: 'the host\'s' })
  for (const [method, url] of [['PUT', '/v1/plants'], ['GET', '/v1/nowhere'], ['GET', '/nowhere']] as const) {
    t.equal((await app.inject({ method, url })).statusCode, 418, `${method} ${url}`)
  }
  await keepsTheContract(t, app, '/v1/plants')
})

t.test('every prefix works, even with parameters, and any spelling of the path that the router accepts', async t => {
  for (const [prefix, url] of Object.entries({ '/': '/plants', v1: '/v1/plants', '/v1/': '/v1/plants' })) {
    const app = host(t)
    await register(app, { prefix })
    await keepsTheContract(t, app, url)
  }
  const ignored = { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, useSemicolonDelimiter: true }
  const app = host(t, { routerOptions: { caseSensitive: false, ...ignored } })
  await register(app, { prefix: '/:tenant', tokens: (token, { params }) => token === `of-${Object(params).tenant}` })
  for (const url of [
    '/green/plants', '/green/plants/', '/green/Plants', '//green//plants', '/green/plants;a=b', '/green/pl%61nts?a=b'
  ]) answersPlant(t, await create(app, url, PLANT, by('of-green')), { name: 'Ficus' }, url)
  answersError(t, await create(app, '/red/plants', PLANT, by('of-green')), 40102, /not accepted/)
})

t.test('two registrations coexist, each with its own store, tokens and limits', async t => {
  const app = host(t)
  const first = await register(app, { prefix: '/a', tokens: ['the-first'], bodyLimit: 20 })
  const second = memoryPlantStore()
  await app.register(async scope => {
    await register(scope, { prefix: '/b', store: second, tokens: async token => token === 'the-other' })
  }, { prefix: '/inner' })
  answersPlant(t, await create(app, '/a/plants', '{"id":1,"name":"A"}', by('the-first')), { name: 'A' })
  answersPlant(t, await create(app, '/inner/b/plants', { id: 2, name: 'Fern' }, by('the-other')), { name: 'Fern' })
  answersError(t, await create(app, '/a/plants', PLANT, by('the-first')), 41301, /too large/)
  answersError(t, await create(app, '/a/plants', PLANT, by('the-other')), 40102, /not accepted/)
  answersError(t, await create(app, '/inner/b/plants', PLANT, by('the-first')), 40102, /not accepted/)
  t.strictSame([[...first.plants.keys()], [...second.plants.keys()]], [[1n], [2n]])
})

t.test('a host\'s own use of @fastify/bearer-auth is not affected', async t => {
  for (const addHook of [false, undefined]) {
    const app = host(t)
    await app.register(async scope => {
      await scope.register(bearerAuth, { keys: ['of-the-host'], addHook })
      scope.get('/own', { ...(scope.verifyBearerAuth && { onRequest: scope.verifyBearerAuth }) }, async () => 'own')
      if (addHook === false) await register(scope)
    })
    if (addHook !== false) await register(app)
    await keepsTheContract(t, app)
    t.equal((await app.inject({ url: '/own', headers: by('of-the-host') })).body, 'own')
    t.equal((await app.inject({ url: '/own', headers: by(TOKEN) })).statusCode, 401)
    answersError(t, await create(app, '/plants', PLANT, by('of-the-host')), 40102, /not accepted/)
  }
})

t.test('a token function gets the request with the host\'s decorators', async t => {
  const app = host(t)
  app.decorateRequest('tenant', '')
  app.addHook('onRequest', async request => { request.setDecorator('tenant', request.headers['x-tenant']) })
  await register(app, { tokens: (token, request) => token === `of-${request.getDecorator<string>('tenant')}` })
  const from = (tenant: string) => create(app, '/plants', PLANT, { 'x-tenant': tenant, ...by('of-green') })
  answersPlant(t, await from('green'), { name: 'Ficus' })
  answersError(t, await from('red'), 40102, /not accepted/)
})

t.test('headers that a hook of the host sets decide on the token, not those that the client sent', async t => {
  const app = host(t)
  app.addHook('onRequest', async request => {
    const { authorization } = request.headers
    request.headers = { authorization: authorization === 'Basic good' ? `Bearer ${TOKEN}` : 'Bearer none' }
  })
  await register(app)
  answersPlant(t, await create(app, '/plants', PLANT, { authorization: 'Basic good' }), { name: 'Ficus' })
  answersError(t, await create(app, '/plants', PLANT), 40102, /not accepted/)
})

t.test('whatever a host\'s store does, its request fails alone, and gives back what it holds', async t => {
  const creates: Record<string, (plant: NewPlant) => Promise<CreateOutcome>> = {
    throws: () => { throw new Error('secret') },
    'resolves with no outcome': async () => undefined as never,
    'changes the plant': async plant => {
      Object.defineProperty(plant, 'name', { get () { throw new Error('secret') } })
      return 'stored'
    }
  }
  for (const [what, createOf] of Object.entries(creates)) {
    const app = host(t)
    await register(app, { store: { create: createOf }, queueLimit: 1 })
    for (let time = 0; time < 2; time++) {
      const response = await create(app, '/plants', PLANT)
      if (what === 'changes the plant') answersPlant(t, response, { name: 'Ficus' }, what)
      else answersError(t, response, 50001, /^The service failed/, what)
    }
  }
})

t.test('the errors of a store that another copy of the package has made are known by their names', async t => {
  for (const [name, error] of [['PlantNotStored', 50301], ['PlantOutcomeUnknown', 50401]] as const) {
    const app = host(t)
    await register(app, { store: { create: async () => { throw Object.assign(new Error('away'), { name }) } } })
    answersError(t, await create(app, '/plants', PLANT), error, /./, name)
  }
})

t.test('faults are logged by the host\'s request logger, at its level, without body or token', async t => {
  const lines: string[] = []
  const app = host(t, { logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } })
  await register(app, { store: { create: async () => { throw new Error('internal detail') } } })
  const response = await create(app, '/plants', { id: 1, name: 'a name that no log may contain' })
  answersError(t, response, 50001, /^The service failed/)
  t.equal(response.headers['x-request-id'], 'req-1')
  t.equal(lines.length, 1)
  const err = { message: 'internal detail' }
  t.match(JSON.parse(lines[0] as string), { level: 50, reqId: 'req-1', statusCode: 500, err })
  t.notMatch(lines[0], /no log may contain/)
  t.notOk(lines.join().includes(TOKEN))
})

t.test('the plugin opens and closes a store, unless the host has opened it', async t => {
  const calls: string[] = []
  let isOpen = false
  const store: PlantStore = {
    create: async () => isOpen ? 'stored' : 'taken',
    async open () {
      calls.push(isOpen ? 'found open' : 'opened')
      if (isOpen) return false
      isOpen = true
      return true
    },
    async close () {
      calls.push('closed')
      isOpen = false
    }
  }
  const app = host(t)
  for (const prefix of ['/a', '/b']) await register(app, { prefix, store })
  for (const prefix of ['/a', '/b']) await keepsTheContract(t, app, `${prefix}/plants`)
  await app.close()
  t.strictSame(calls.splice(0), ['opened', 'found open', 'closed'], 'two registrations open it once, and close it once')

  await store.open?.()
  const second = host(t)
  await register(second, { store })
  await second.close()
  t.strictSame(calls, ['opened', 'found open'], 'a store opened by the host stays open')

  const third = host(t)
  await register(third, { store: { create: store.create, open: async () => true } })
  await t.resolves(third.close(), 'a store without close')
})

t.test('a store that opens after the host\'s pluginTimeout is closed with it; one that never opens is not', async t => {
  for (const opens of ['while it closes', 'later', 'never']) {
    let isClosed = false
    let open = (_isOpened: boolean): void => {}
    const store: PlantStore = {
      create: async () => 'stored',
      open: () => new Promise(resolve => { open = resolve }),
      async close () { isClosed = true }
    }
    const app = host(t, { pluginTimeout: 300 })
    app.register(plantStore, { store, tokens })
    await t.rejects(async () => { await app.ready() }, { code: 'FST_ERR_PLUGIN_TIMEOUT' })
    const closed = app.close()
    if (opens === 'while it closes') open(true)
    await closed
    if (opens === 'later') open(true)
    await setImmediate()
    t.equal(isClosed, opens !== 'never', opens)
  }
})

t.test('a store whose open fails with anything: the app does not start, says why, and closes', async t => {
  for (const value of [new Error('no'), undefined, null, 'no', 7]) {
    for (const open of [() => { throw value }, async () => { throw value }]) {
      const app = host(t)
      app.register(plantStore, { store: { create: async () => 'stored', open }, tokens })
      const message = value instanceof Error ? 'no' : `the store could not be opened: ${String(value)}`
      await t.rejects(async () => { await app.ready() }, { message })
      await t.resolves(app.close())
    }
  }
})

t.test('a store whose close fails or never settles: close ends, with the reason, and closes the rest', async t => {
  for (const { message, close } of [
    { message: 'no', close: () => { throw new Error('no') } },
    { message: 'no', close: async () => { throw new Error('no') } },
    { message: 'the store did not close within 500 ms', close: () => new Promise<void>(() => {}) }
  ]) {
    const app = fastify()
    let isRestClosed = false
    app.addHook('onClose', async () => { isRestClosed = true })
    const store: PlantStore = { create: async () => 'stored', open: async () => true, close }
    await register(app, { store, storeTimeout: 500 })
    await t.rejects(app.close(), { message })
    t.ok(isRestClosed)
  }
})

t.test('with the embedded store, a request in flight while the host closes is stored and answered', async t => {
  const path = join(t.testdir(), 'plants.db')
  const app = host(t)
  await register(app, { store: sqlitePlantStore({ path }) })
  const connection = await RawConnection.open(t, await listen(app))
  connection.write(...HEAD, 'Content-Length: 23', '', '{"id":1,')
  await once(app.server, 'request')
  const closed = app.close()
  connection.write('"name":"Ficus"}')
  t.match(await connection.answer(), { status: 200, body: '{"name":"Ficus"}' })
  connection.socket.destroy()
  await closed
  t.strictSame(plantsInFile(path), new Map([[1n, { name: 'Ficus' }]]))
})

t.test('invalid options reject the registration with a message that says what is allowed, without a token', async t => {
  const refuses = (options: object, message: RegExp) => (
    t.rejects(register(host(t), options), { name: 'TypeError', message })
  )
  for (const store of [undefined, null, {}, 'plants.db', { create: true }]) {
    await refuses({ store }, /^plant-store: the option store must be a PlantStore, for example sqlitePlantStore/)
  }
  const list = /^plant-store: the option tokens must be a list of access tokens, such as \['.*'\], or a function/
  for (const tokens of [undefined, null, 12, {}, 'one-secret-string']) await refuses({ tokens }, list)
  const empty = /^plant-store: the option tokens: the list is empty: there must be at least one access token$/
  await refuses({ tokens: [] }, empty)
  for (const token of [undefined, 12, null]) {
    const message = /^plant-store: the option tokens: access token 1 of 1 is of the type \w+, not a string/
    await refuses({ tokens: [token] }, message)
  }
  const wrong = ['not a secret', 'ünïcode', '', '=', '==', 'a=b', 'new\nline', 'comma,token', 'nul\0']
  for (const token of wrong) {
    const message = /^plant-store: the option tokens: access token 2 of 2 is not a b64token \(RFC 6750((?!secret).)*$/
    await refuses({ tokens: new Set(['fine', token]) }, message)
  }
  for (const [name, { minimum, maximum }] of Object.entries(limits)) {
    const message = RegExp(`^plant-store: the option ${name} must be an integer from ${minimum} to ${maximum}$`)
    for (const value of [minimum - 1, maximum + 1, 1.5, NaN, '10']) await refuses({ [name]: value }, message)
    for (const value of [minimum, maximum, undefined]) {
      await register(host(t), { [name]: value, tokens: new Set(tokens) })
    }
  }
  const open = async () => { throw new StoreUnusable('another program\'s') }
  await t.rejects(register(host(t), { store: { create: async () => 'stored', open } }), StoreUnusable)
})

t.test('an onError hook can tell the errors apart by their code, which is never in the response', async t => {
  const app = host(t)
  const seen: unknown[] = []
  app.addHook('onError', async (_request, _reply, error) => { seen.push(error.code) })
  await register(app)
  await create(app, '/plants', PLANT)
  const refused = [
    await create(app, '/plants', { ...PLANT, name: 'Fern' }),
    await create(app, '/plants', { id: 1 }),
    await create(app, '/plants', PLANT, { 'content-type': 'not a media type' }),
    await create(app, '/plants', PLANT, { authorization: undefined })
  ]
  t.strictSame(seen, [
    'PLANT_STORE_ID_TAKEN', 'PLANT_STORE_PLANT_INVALID', 'PLANT_STORE_MEDIA_TYPE_UNSUPPORTED',
    'PLANT_STORE_CREDENTIALS_MISSING'
  ])
  for (const { body } of refused) t.notMatch(body, 'PLANT_STORE')
})

t.test('the diagnostics channels report each create request and its outcome, independently of each other', async t => {
  const starts: unknown[] = []
  const ends: unknown[] = []
  const start = (message: unknown): void => { starts.push({ ...Object(message) }) }
  const end = (message: unknown): void => { ends.push({ ...Object(message) }) }
  channels.createStart.subscribe(start)
  channels.createEnd.subscribe(end)
  t.teardown(() => { channels.createStart.unsubscribe(start) })
  const errors = {
    not_stored: new PlantNotStored('full'), unknown: new PlantOutcomeUnknown('lost'), failed: new Error('fault')
  }
  const outcomes = ['stored', 'same', 'taken', ...Object.keys(errors)]
  const store: PlantStore = {
    async create ({ name }) {
      if (name in errors) throw errors[name as keyof typeof errors]
      return name as CreateOutcome
    }
  }
  const app = host(t)
  await register(app, { store })
  for (const name of outcomes) await create(app, '/plants', { id: 1, name })
  await create(app, '/plants', '{')
  t.match(starts, outcomes.map(() => ({ pending: 1, outcome: undefined })))
  t.match(ends, outcomes.map(outcome => ({ pending: 1, outcome })), 'each counts until its response')
  channels.createEnd.unsubscribe(end)
  await create(app, '/plants', { id: 7, name: 'stored' })
  t.equal(starts.length, outcomes.length + 1)
})

t.test('the plugin declares its name and the supported versions of Fastify', async t => {
  const meta = Object.getOwnPropertyDescriptor(plantStore, Symbol.for('plugin-meta'))?.value
  t.match(meta, { name: 'plant-store', fastify: '>=5.11.2 <6' })
  const app = host(t)
  const names = new Set<string>()
  app.addHook('onRoute', function () { names.add(this.pluginName.split(' -> ')[0] ?? '') })
  await register(app)
  t.strictSame([...names], ['plant-store'])
  t.match(app.printPlugins(), /plant-store/)
})

t.test('twelve stores in one process cause no warning', async t => {
  const warnings: string[] = []
  const note = ({ message }: Error): void => { warnings.push(message) }
  process.on('warning', note)
  t.teardown(() => { process.off('warning', note) })
  const app = host(t)
  const folder = t.testdir()
  for (let index = 1; index <= 12; index++) {
    const store = sqlitePlantStore({ path: `${folder}/${index}.db` })
    await app.register(plantStore, { prefix: `/${index}`, store, tokens })
  }
  answersPlant(t, await create(app, '/12/plants', PLANT), { name: 'Ficus' })
  await app.close()
  t.strictSame(warnings, [])
})
