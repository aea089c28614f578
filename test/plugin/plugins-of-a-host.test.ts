import auth from '@fastify/auth'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import jwt from '@fastify/jwt'
import { FastifyOtelInstrumentation } from '@fastify/otel'
import rateLimit from '@fastify/rate-limit'
import requestContext from '@fastify/request-context'
import swagger from '@fastify/swagger'
import type { JsonSchemaToTsProvider } from '@fastify/type-provider-json-schema-to-ts'
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import { jsonSchemaTransform, serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { z } from 'zod'
import plantStore, { errorCodes, memoryPlantStore, type PlantStore, type Tokens } from '../../src/index.js'
import { host, keepsTheContract, PLANT, tokens } from '../support/http/hosts.js'
import { answersPlant, create, TOKEN } from '../support/http/service.js'

const register = (app: FastifyInstance, options: object = {}) =>
  app.register(plantStore, { store: memoryPlantStore(), tokens, ...options })

t.test('the hooks that @fastify/rate-limit adds to the route run before authentication, so that guesses of a token are limited', async t => {
  const app = host(t)
  await app.register(rateLimit, { max: 5 })
  await register(app)
  const statuses = []
  for (let guess = 0; guess < 8; guess++) statuses.push((await create(app, '/plants', PLANT, { authorization: `Bearer guess-${guess}` })).statusCode)
  t.strictSame(statuses, [401, 401, 401, 401, 401, 429, 429, 429])
  t.equal((await create(app, '/plants', PLANT)).statusCode, 429)
})

t.test('hooks that @fastify/auth or an onRoute hook of the host adds run before authentication too', async t => {
  const app = host(t)
  await app.register(auth)
  const called: string[] = []
  app.addHook('onRoute', route => {
    const check = app.auth([async () => { called.push('auth') }])
    route.onRequest = route.onRequest === undefined ? check : [route.onRequest, check].flat()
  })
  await register(app, { tokens: () => { called.push('token'); return true } })
  await create(app, '/plants', PLANT)
  t.strictSame(called, ['auth', 'token'])
})

t.test('@fastify/under-pressure refuses before authentication, in its own shape', async t => {
  const app = host(t)
  await app.register(underPressure, { maxHeapUsedBytes: 1, sampleInterval: 1 })
  await register(app)
  await app.ready()
  await new Promise(resolve => setTimeout(resolve, 20))
  const response = await create(app, '/plants', PLANT, { authorization: undefined })
  t.match([response.statusCode, response.json()], [503, { code: 'FST_UNDER_PRESSURE' }])
})

t.test('helmet, cors, compress, request-context and otel do their work on the route', async t => {
  const app = host(t)
  await app.register(new FastifyOtelInstrumentation().plugin())
  await app.register(helmet)
  await app.register(cors)
  await app.register(compress, { threshold: 0 })
  await app.register(requestContext)
  app.addHook('onRequest', async request => { request.requestContext.set('user' as never, 'ann' as never) })
  const users: unknown[] = []
  const memory = memoryPlantStore()
  const store: PlantStore = {
    create: async (plant, deadline) => {
      const { requestContext } = await import('@fastify/request-context')
      users.push(requestContext.get('user' as never))
      return memory.create(plant, deadline)
    }
  }
  await register(app, { store })
  await keepsTheContract(t, app)
  const response = await create(app, '/plants', gzipSync(JSON.stringify(PLANT)), { 'content-encoding': 'gzip', origin: 'http://a', 'x-id': '1' })
  t.match([response.statusCode, response.headers], [400, { 'x-frame-options': 'SAMEORIGIN', 'access-control-allow-origin': '*' }], 'a compressed body is read, and its id is taken')
  t.equal((await create(app, '/plants', { ...PLANT, id: 5 }, { 'accept-encoding': 'gzip' })).headers['content-encoding'], 'gzip')
  t.ok(users.length > 0)
  t.ok(users.every(user => user === 'ann'), 'the context of the request reaches the store')
})

t.test('@fastify/jwt can decide on tokens', async t => {
  const app = host(t)
  await app.register(jwt, { secret: 'a-secret-of-the-host' })
  const tokens: Tokens = async (_token, request) => request.jwtVerify().then(() => true, () => false)
  await register(app, { tokens })
  await app.ready()
  answersPlant(t, await create(app, '/plants', PLANT, { authorization: `Bearer ${app.jwt.sign({ user: 'ann' })}` }), { name: 'Ficus' })
  t.equal((await create(app, '/plants', PLANT, { authorization: `Bearer ${TOKEN}` })).statusCode, 401)
})

/** The operation of the route in a document of the host's @fastify/swagger. */
async function documented (app: FastifyInstance, url = '/plants'): Promise<any> {
  await app.ready()
  const document = JSON.parse(JSON.stringify(app.swagger()))
  return { document, post: document.paths[url]?.post }
}

t.test('@fastify/swagger documents the route fully, also where untagged routes are hidden', async t => {
  const app = host(t)
  await app.register(swagger, { hideUntagged: true, openapi: { openapi: '3.1.0' } })
  await register(app, { prefix: '/a' })
  await register(app, { prefix: '/b' })
  const { document, post } = await documented(app, '/a/plants')
  t.strictSame(Object.keys(document.paths), ['/a/plants', '/b/plants'])
  t.match(post, { operationId: 'createPlant', tags: ['plants'], security: [{ bearer: [] }] })
  t.match(document.components.securitySchemes, { bearer: { type: 'http', scheme: 'bearer' } })
  t.not(document.paths['/b/plants'].post.operationId, post.operationId, 'an operationId is unique')
  t.match(post.requestBody, { required: true, content: { 'application/json': { schema: { required: ['id', 'name'], properties: { id: { type: 'integer', format: 'int64' } } } } } })
  t.strictSame(Object.keys(post.responses), ['200', '400', '401', '413', '415', '500', '503', '504'], 'the statuses that the plugin itself sends')
  t.strictSame(Object.keys(post.responses[400].content['application/json'].examples), ['plantInvalid', 'idTaken', 'bodyNotJson', 'bodyMissing', 'requestMalformed'])
  t.match(post.responses[400].description, /40003: .*40000: /s)
  t.match(post.responses[503].headers, { 'Retry-After': { schema: { type: 'integer' } }, 'X-Request-Id': {} })
  t.match(post.responses[401].headers, { 'WWW-Authenticate': {} })
  await keepsTheContract(t, app, '/b/plants')
})

/** The places in a document where the keyword `examples` is an array, which OpenAPI 3.0 does not know. */
function arraysOfExamples (value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const inside = arraysOfExamples(inner, `${path}/${key}`)
    return key === 'examples' && Array.isArray(inner) ? [`${path}/${key}`, ...inside] : inside
  })
}

t.test('the document is valid in OpenAPI 3.0 too, which has no arrays of examples, and every error is an example', async t => {
  const app = host(t)
  await app.register(swagger, { openapi: {} })
  await register(app)
  const { document, post } = await documented(app)
  t.match(document.openapi, /^3\.0/)
  t.strictSame(arraysOfExamples(document), [])
  t.equal(post.responses[200].content['application/json'].schema.properties.name.example, 'Monstera deliciosa')
  t.strictSame(post.responses[400].content['application/json'].examples.idTaken.value, {
    error: errorCodes.idTaken[1], message: errorCodes.idTaken[2]
  })
  t.strictSame(post.responses[503].headers['Retry-After'].schema, { type: 'integer', example: 1 })
})

t.test('the document names the host\'s own bearer scheme if it has one', async t => {
  const app = host(t)
  await app.register(swagger, { openapi: { components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-key' }, accounts: { type: 'http', scheme: 'bearer' } } } } })
  await register(app)
  const { document, post } = await documented(app)
  t.strictSame([post.security, Object.keys(document.components.securitySchemes)], [[{ accounts: [] }], ['key', 'accounts']])
})

t.test('with Zod\'s type provider, the host\'s routes and document work beside the plugin', async t => {
  const app = host(t).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  await app.register(swagger, { hideUntagged: true, openapi: {}, transform: jsonSchemaTransform })
  app.post('/own', { schema: { tags: ['own'], body: z.object({ count: z.number() }) } }, async ({ body }) => body)
  await register(app as unknown as FastifyInstance)
  const { document, post } = await documented(app as unknown as FastifyInstance)
  t.strictSame(Object.keys(document.paths), ['/own', '/plants'])
  t.equal(post.operationId, 'createPlant')
  t.equal((await app.inject({ method: 'POST', url: '/own', payload: { count: '1' } })).statusCode, 400)
  await keepsTheContract(t, app as unknown as FastifyInstance)
})

t.test('with json-schema-to-ts, and a transform of the host\'s, they work too', async t => {
  const app = host(t).withTypeProvider<JsonSchemaToTsProvider>()
  await app.register(swagger, { openapi: {}, transform: ({ schema, url }) => ({ schema: { ...schema, tags: ['own'] }, url }) })
  app.post('/own', { schema: { body: { type: 'object', properties: { count: { type: 'integer' } } } as const } }, async ({ body }) => ({ count: body.count }))
  await register(app as unknown as FastifyInstance)
  const { post } = await documented(app as unknown as FastifyInstance)
  t.strictSame(post.tags, ['plants'])
  t.strictSame((await app.inject({ method: 'POST', url: '/own', payload: { count: '1' } })).json(), { count: 1 })
  await keepsTheContract(t, app as unknown as FastifyInstance)
})
