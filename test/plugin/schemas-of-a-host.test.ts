import swagger from '@fastify/swagger'
import type { JsonSchemaToTsProvider } from '@fastify/type-provider-json-schema-to-ts'
import { Type, TypeRegistry } from '@sinclair/typebox'
import type { FastifyInstance, FastifyServerOptions, RouteOptions } from 'fastify'
import {
  jsonSchemaTransform, serializerCompiler, validatorCompiler, type ZodTypeProvider
} from 'fastify-type-provider-zod'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { errorCodes, ErrorSchema } from '../../src/index.js'
import { host, keepsTheContract, PLANT, register } from '../support/http/hosts.js'
import { answersError, answersPlant, create } from '../support/http/service.js'

type Route = Omit<RouteOptions, 'schema'> & { schema: Record<string, any> }
type OnRoute = (route: Route) => void

/** An app whose `onRoute` hook changes the plugin's route, and a route of its own with the same schema beside it. */
async function changing (
  t: Test, onRoute: OnRoute, options: FastifyServerOptions = {}, prepare = (_app: FastifyInstance) => {}
) {
  const app = host(t, options)
  prepare(app)
  app.addHook('onRoute', route => {
    const changed = route as Route
    changed.schema ??= {}
    onRoute(changed)
  })
  app.post('/own', async ({ query }) => query)
  return { app, store: await register(app) }
}

const limited = { statusCode: 429, error: 'Too Many Requests', message: 'later', retry: '7' }
const limitedSchema = {
  type: 'object',
  properties: {
    statusCode: { type: 'integer' }, error: { type: 'string' }, message: { type: 'string' }, retry: { type: 'integer' }
  }
}
const refuseWithLimited = (app: FastifyInstance) => app.addHook('preHandler', async ({ headers }, reply) => {
  if (headers['x-limited'] !== undefined) return reply.code(429).send({ ...limited, secret: 'not in the schema' })
})

t.test('onRoute adds a response: the app\'s serializer writes it', async t => {
  const filtered = { ...limited, retry: 7 }
  const typed = Type.Object({
    statusCode: Type.Integer(), error: Type.String(), message: Type.String(), retry: Type.Integer()
  })
  const content = { 'application/json': { schema: { $ref: 'limited#' } } }
  const schemas: Record<string, { schema: unknown, expected: object }> = {
    'JSON Schema': { schema: limitedSchema, expected: filtered },
    $ref: { schema: { $ref: 'limited#' }, expected: filtered },
    content: { schema: { content }, expected: filtered },
    TypeBox: { schema: typed, expected: filtered }
  }
  for (const [name, { schema, expected }] of Object.entries(schemas)) {
    const { app } = await changing(t, route => {
      route.schema.response = { ...route.schema.response, 429: schema }
    }, {}, app => {
      app.addSchema({ $id: 'limited', ...limitedSchema })
      refuseWithLimited(app)
    })
    const response = await create(app, '/plants', PLANT, { 'x-limited': '1' })
    t.strictSame([response.statusCode, response.json()], [429, expected], name)
    await keepsTheContract(t, app)
  }
})

t.test('onRoute adds headers and querystring: the app\'s validators check them, as on its own route', async t => {
  const tenant = { required: ['X-Tenant'], properties: { 'X-Tenant': { type: 'string', minLength: 2 } } }
  const headers = { type: 'object', allOf: [tenant] }
  const querystring = { type: 'object', properties: { page: { type: 'integer', default: 1 } } }
  const garden = { 'x-tenant': 'garden' }
  const kinds: Record<string, OnRoute> = {
    'JSON Schema': ({ schema }) => { Object.assign(schema, { headers, querystring }) },
    'a shared schema': ({ schema }) => { Object.assign(schema, { headers, query: { $ref: 'paged#' } }) },
    TypeBox: ({ schema }) => {
      schema.headers = Type.Object({ 'x-tenant': Type.String({ minLength: 2 }) })
      schema.querystring = Type.Object({ page: Type.Optional(Type.Integer({ default: 1 })) })
    }
  }
  for (const [name, onRoute] of Object.entries(kinds)) {
    const queries: unknown[] = []
    const { app, store } = await changing(t, onRoute, {}, app => {
      app.addSchema({ $id: 'paged', ...querystring })
      app.addHook('preHandler', async ({ query }) => { queries.push({ ...Object(query) }) })
    })
    for (const url of ['/own', '/plants']) {
      const refused = [await create(app, url, PLANT), await create(app, `${url}?page=x`, PLANT, garden)]
      t.match(refused.map(response => response.json()), [
        { statusCode: 400, code: 'FST_ERR_VALIDATION', message: /^headers must have required property/ },
        { statusCode: 400, code: 'FST_ERR_VALIDATION', message: 'querystring/page must be integer' }
      ], `${name}, ${url}`)
    }
    t.equal(store.plants.size, 0)
    for (const url of ['/plants?page=7', '/plants']) {
      answersPlant(t, await create(app, url, PLANT, garden), { name: 'Ficus' })
    }
    t.strictSame(queries, [{ page: 7 }, { page: 1 }], name)
    answersError(t, await create(app, '/plants', { id: '1', name: 'x' }, garden), 40003, /^id must be/)
  }
})

t.test('onRoute adds a schema: it is compiled by whatever compilers the app has', async t => {
  const seen: unknown[] = []
  const validator = ({ httpPart, schema }: { httpPart?: string, schema: any }) => (value: unknown) => {
    seen.push(`${httpPart}: ${Object.keys(schema.properties)[0]}`)
    return { value }
  }
  const serializer = ({ httpStatus }: { httpStatus?: string }) => () => {
    seen.push(httpStatus)
    return '{}'
  }
  const onRoute: OnRoute = ({ schema }) => {
    Object.assign(schema, { headers: limitedSchema, querystring: limitedSchema })
    schema.response = { ...schema.response, 429: limitedSchema }
  }
  const ofHost = await changing(t, onRoute, {}, app => {
    app.setValidatorCompiler(validator).setSerializerCompiler(serializer)
    refuseWithLimited(app)
  })
  t.equal((await create(ofHost.app, '/plants', PLANT, { 'x-limited': '1' })).body, '{}')
  t.strictSame(seen, ['querystring: statusCode', 'headers: statusCode', '429'])
  await keepsTheContract(t, ofHost.app)
  const withOptions = await changing(t, onRoute, { ajv: { customOptions: { coerceTypes: false } } })
  const notCoerced = await create(withOptions.app, '/plants?retry=7', PLANT)
  t.match(notCoerced.json(), { statusCode: 400, message: 'querystring/retry must be integer' })
})

t.test('onRoute adds a schema that cannot be compiled: the app does not start', async t => {
  const nowhere = { $ref: 'nowhere#' }
  for (const { schemas, code } of [
    { schemas: { querystring: nowhere }, code: 'FST_ERR_SCH_VALIDATION_BUILD' },
    { schemas: { response: { 429: nowhere } }, code: 'FST_ERR_SCH_SERIALIZATION_BUILD' }
  ]) {
    const { app } = await changing(t, ({ url, schema }) => { if (url === '/plants') Object.assign(schema, schemas) })
    await t.rejects(async () => { await app.ready() }, { code })
  }
})

t.test('a hook may validate and serialize by schemas of its own, by the app\'s compilers', async t => {
  const { app } = await changing(t, () => {}, {}, app => {
    app.addHook('preHandler', async (request, reply) => {
      t.ok(request.validateInput({ retry: '7' }, limitedSchema))
      t.equal(reply.serializeInput(limited, limitedSchema), JSON.stringify({ ...limited, retry: 7 }))
    })
  })
  answersPlant(t, await create(app, '/plants', PLANT), { name: 'Ficus' })
})

t.test('onRoute changes what it is given: neither another app nor the exports notice', async t => {
  const exported = JSON.stringify(ErrorSchema)
  const { app } = await changing(t, ({ schema }) => {
    const { response, body } = schema
    if (response === undefined) return
    Object.assign(response, { 418: limitedSchema })
    Object.assign(body, { description: 'changed' })
    Object.assign(response[200].properties, { more: { type: 'string' } })
    for (const { content, headers } of [response[400], response[401]]) {
      Object.assign(content['application/json'].schema, { description: 'changed' })
      Object.assign(headers['X-Request-Id'], { description: 'changed' })
    }
  })
  await keepsTheContract(t, app)
  const second = host(t)
  const schemas: string[] = []
  second.addHook('onRoute', ({ schema }) => { schemas.push(JSON.stringify(schema)) })
  await register(second)
  t.notMatch(schemas.join(), /418|changed|more/)
  t.equal(JSON.stringify(ErrorSchema), exported)
})

t.test('onRoute sets attachValidation: the validation error is the response, unless a hook sends another', async t => {
  const { app, store } = await changing(t, route => { route.attachValidation = true }, {}, app => {
    app.addHook('preHandler', async (request, reply) => {
      if (request.headers['x-repaired'] === '1') {
        Object.assign(request, { validationError: null, body: { id: 5n, name: 'Repaired' } })
      }
      if (request.headers['x-own'] === undefined) return
      return reply.code(422).send({ why: request.validationError?.message })
    })
  })
  const [invalid, valid] = [await create(app, '/plants', { id: 1 }), await create(app, '/plants', { ...PLANT, id: 2 })]
  answersError(t, invalid, 40003, /^name is missing/)
  answersPlant(t, valid, { name: 'Ficus' })
  await keepsTheContract(t, app)
  const repaired = await create(app, '/plants', { id: 5 }, { 'x-repaired': '1' })
  answersPlant(t, repaired, { name: 'Repaired' })
  const own = await create(app, '/plants', { id: 3 }, { 'x-own': '1' })
  t.match([own.statusCode, own.json()], [422, { why: /^name is missing/ }])
  t.strictSame([...store.plants.keys()].toSorted(), [1n, 2n, 5n, 9007199254740993n])
})

const NOT_STORED = /^The app made the plant invalid; this request did not store it$/

t.test('preHandler replaces the body: a plant is read once and stored; else only that request fails', async t => {
  const names = ['First', 'Second']
  const plants: Record<string, unknown> = {
    First: { id: 1n, get name () { return names.shift() } },
    Frozen: Object.freeze({ id: 2n, name: 'Frozen', tag: undefined }),
    Inherited: Object.create({ id: 3n, name: 'Inherited' }, { more: { value: 1, enumerable: true } })
  }
  const others: Record<string, unknown> = {
    'without a name': { id: 1n },
    'an id that is a number': { id: 1, name: 'Ficus' },
    'an id beyond int64': { id: 2n ** 63n, name: 'Ficus' },
    'a lone surrogate': { id: 1n, name: '\ud800' },
    'a tag that is null': { id: 1n, name: 'Ficus', tag: null },
    undefined,
    null: null,
    'a string': 'Ficus'
  }
  const { app, store } = await changing(t, () => {}, {}, app => {
    app.addHook('preHandler', async request => {
      const name = String(request.headers['x-body'] ?? '')
      if (name !== '') request.body = { ...others, ...plants }[name]
    })
  })
  for (const name of Object.keys(others)) {
    const [invalid, valid] = await Promise.all([
      create(app, '/plants', PLANT, { 'x-body': name }), create(app, '/plants', { id: 4, name: 'Fern' })
    ])
    answersError(t, invalid, 50001, NOT_STORED, name)
    answersPlant(t, valid, { name: 'Fern' }, name)
  }
  for (const name of Object.keys(plants)) {
    answersPlant(t, await create(app, '/plants', PLANT, { 'x-body': name }), { name })
  }
  t.strictSame([...store.plants.values()], [
    { id: 4n, name: 'Fern' }, { id: 1n, name: 'First' }, { id: 2n, name: 'Frozen' }, { id: 3n, name: 'Inherited' }
  ])
})

t.test('onRoute replaces the schema of the body: the plugin\'s validation applies', async t => {
  const { app } = await changing(t, ({ schema }) => { schema.body = { type: 'object', additionalProperties: true } })
  await keepsTheContract(t, app)
})

t.test('onRoute removes the validation of the body: what is no plant is a 500, and is not stored', async t => {
  const changes: Record<string, OnRoute> = {
    'another validator': route => {
      route.validatorCompiler = () => value => ({ value: { ...Object(value), more: 1 } })
    },
    'no schema of the body': ({ schema }) => { delete schema.body },
    'no schema': route => { route.schema = undefined as never }
  }
  for (const [name, onRoute] of Object.entries(changes)) {
    const { app, store } = await changing(t, onRoute)
    const [invalid, valid] = await Promise.all([
      create(app, '/plants', { id: 1 }), create(app, '/plants', '{"id":9007199254740993,"name":"Fern","more":1}')
    ])
    answersError(t, invalid, 50001, NOT_STORED, name)
    answersPlant(t, valid, { name: 'Fern' }, name)
    t.strictSame([...store.plants.values()], [{ id: 9007199254740993n, name: 'Fern' }], name)
  }
})

t.test('onRoute copies the schema, with another description, or deeply: it validates as before', async t => {
  const copies: OnRoute[] = [
    ({ schema }) => {
      if (schema.body !== undefined) schema.body = { ...schema.body, description: 'Our plant', title: 'OurPlant' }
    },
    route => {
      route.schema = structuredClone(route.schema)
      const { body = {}, response = {} } = route.schema
      Object.assign(body, { description: 'Our plant', examples: [{ id: 1, name: 'Ours' }] })
      for (const { content } of Object.values<any>(response).filter(({ content }) => content)) {
        content['application/json'].schema.description = 'Our error'
      }
    }
  ]
  for (const onRoute of copies) {
    const { app } = await changing(t, onRoute, {}, app => {
      app.addHook('preHandler', async ({ headers }, reply) => {
        if (headers['x-refuse'] !== undefined) return reply.code(401).send({ error: 'Unauthorized' })
      })
    })
    await keepsTheContract(t, app)
    t.equal((await create(app, '/plants', PLANT, { 'x-refuse': '1' })).body, '{"error":"Unauthorized"}')
  }
})

t.test('an app that clears the registry of TypeBox changes nothing', async t => {
  const app = host(t)
  await register(app)
  const kinds = TypeRegistry.Entries()
  t.teardown(() => { for (const [kind, check] of kinds) TypeRegistry.Set(kind, check) })
  TypeRegistry.Clear()
  await keepsTheContract(t, app)
})

/** The app's document, as @fastify/swagger writes it, and the operation of the plugin's route. */
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
  const plant = { required: ['id', 'name'], properties: { id: { type: 'integer', format: 'int64' } } }
  t.match(post.requestBody, { required: true, content: { 'application/json': { schema: plant } } })
  const statuses = ['200', '400', '401', '413', '415', '500', '503', '504']
  t.strictSame(Object.keys(post.responses), statuses, 'the statuses that the plugin itself sends')
  const examples = ['plantInvalid', 'idTaken', 'bodyNotJson', 'bodyMissing', 'requestMalformed']
  t.strictSame(Object.keys(post.responses[400].content['application/json'].examples), examples)
  t.match(post.responses[400].description, /40003: .*40000: /s)
  t.match(post.responses[503].headers, { 'Retry-After': { schema: { type: 'integer' } }, 'X-Request-Id': {} })
  t.match(post.responses[401].headers, { 'WWW-Authenticate': {} })
  await keepsTheContract(t, app, '/b/plants')
})

t.test('the document is valid in OpenAPI 3.0 too, and names the host\'s own bearer scheme if it has one', async t => {
  const app = host(t)
  await app.register(swagger, {
    openapi: {
      components: {
        securitySchemes: {
          key: { type: 'apiKey', in: 'header', name: 'x-key' }, accounts: { type: 'http', scheme: 'Bearer' }
        }
      }
    }
  })
  app.get('/own', { schema: { operationId: 'createPlant' } }, () => 'own')
  await register(app)
  const { document, post } = await documented(app)
  t.equal(post.operationId, 'createPlant_plants', 'the host has the other one')
  t.match(document.openapi, /^3\.0/)
  t.notMatch(JSON.stringify(document), '"examples":[', 'OpenAPI 3.0 has no arrays of examples')
  t.equal(post.responses[200].content['application/json'].schema.properties.name.example, 'Monstera deliciosa')
  const [, error, message] = errorCodes.idTaken
  t.strictSame(post.responses[400].content['application/json'].examples.idTaken.value, { error, message })
  t.strictSame(post.responses[503].headers['Retry-After'].schema, { type: 'integer', example: 1 })
  t.strictSame(post.security, [{ accounts: [] }])
  t.strictSame(Object.keys(document.components.securitySchemes), ['key', 'accounts'])

  const withAnother = host(t)
  const bearer = { type: 'apiKey', in: 'header', name: 'x-key' } as const
  await withAnother.register(swagger, { openapi: { components: { securitySchemes: { bearer } } } })
  await register(withAnother)
  const another = await documented(withAnother)
  t.strictSame(another.post.security, [{ plantStoreBearer: [] }])
  t.strictSame(another.document.components.securitySchemes.bearer, bearer, 'a scheme of the host\'s stays')
})

t.test('with the type providers of Zod and json-schema-to-ts, the host\'s routes and document work too', async t => {
  const withZod = host(t).withTypeProvider<ZodTypeProvider>()
  withZod.setValidatorCompiler(validatorCompiler).setSerializerCompiler(serializerCompiler)
  await withZod.register(swagger, { hideUntagged: true, openapi: {}, transform: jsonSchemaTransform })
  const schema = { tags: ['own'], body: z.object({ count: z.number() }) }
  withZod.post('/own', { schema }, async ({ body }) => body)

  const withTypes = host(t).withTypeProvider<JsonSchemaToTsProvider>()
  await withTypes.register(swagger, {
    openapi: {}, transform: ({ schema, url }) => ({ schema: { ...schema, tags: ['own'] }, url })
  })
  const body = { type: 'object', properties: { count: { type: 'integer' } } } as const
  withTypes.post('/own', { schema: { body } }, async ({ body }) => ({ count: body.count }))

  for (const { app, own } of [
    { app: withZod as unknown as FastifyInstance, own: { statusCode: 400 } },
    { app: withTypes as unknown as FastifyInstance, own: { count: 1 } }
  ]) {
    await register(app)
    const { document, post } = await documented(app)
    t.strictSame(Object.keys(document.paths), ['/own', '/plants'])
    t.match(post, { operationId: 'createPlant', tags: ['plants'] })
    t.match((await create(app, '/own', { count: '1' })).json(), own)
    await keepsTheContract(t, app)
  }
})
