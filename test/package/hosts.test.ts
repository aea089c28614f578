import { once } from 'node:events'
import { connect } from 'node:http2'
import swagger from '@fastify/swagger'
import fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import plantStore, { mongoPlantStore } from '../../src/index.js'
import { forgetfulStore } from '../forgetful-store.js'
import { ScriptedMongo } from '../scripted-mongodb/scripted-mongo.js'
import { listen } from '../raw-http.js'
import { answersPlant, create, TOKEN } from '../service.js'
import { host, keepsTheContract, PLANT, tokens } from './hosts.js'

interface Http2Answer {
  status: number
  headers: Record<string, unknown>
  body: string
}

/** Sends requests on one HTTP/2 connection. */
async function http2Connection (t: Test, port: number) {
  const session = connect(`http://127.0.0.1:${port}`)
  t.teardown(() => { session.destroy() })
  await once(session, 'connect')
  return async (method: string, path: string, headers: object, body?: string): Promise<Http2Answer> => {
    const stream = session.request({ ':method': method, ':path': path, ...headers })
    const answered = once(stream, 'response')
    // A large body may be cut off by the answer.
    stream.on('error', () => {})
    stream.end(body)
    const [all] = await answered as [Record<string, unknown>]
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    return { status: all[':status'] as number, headers: all, body: Buffer.concat(chunks).toString() }
  }
}

t.test('over HTTP/2 it keeps the contract, and warns of nothing', async t => {
  const warnings: Error[] = []
  const warn = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', warn)
  t.teardown(() => { process.off('warning', warn) })

  const app = fastify({ http2: true }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  const store = forgetfulStore()
  await app.register(plantStore, { prefix: '/v1', store, tokens, bodyLimit: 100 })
  const send = await http2Connection(t, await listen(app))
  const good = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }

  const stored = await send('POST', '/v1/plants', good, '{"id":9007199254740993,"name":"Ficus"}')
  t.match(stored, { status: 200, headers: { 'content-type': 'application/json; charset=utf-8', 'content-length': '16' }, body: '{"name":"Ficus"}' })
  t.strictSame(store.plants, [{ id: 9007199254740993n, name: 'Ficus' }])
  for (const [method, path, headers, body, status, error] of [
    ['POST', '/v1/plants', good, undefined, 400, 40001],
    ['POST', '/v1/plants', good, '{', 400, 40002],
    ['POST', '/v1/plants', good, '{"id":1}', 400, 40003],
    ['POST', '/v1/plants', { ...good, 'content-type': 'text/plain' }, 'x', 415, 41501],
    ['POST', '/v1/plants', good, `{"id":1,"name":"${'x'.repeat(100)}"}`, 413, 41301],
    ['POST', '/v1/plants', { 'content-type': 'application/json' }, '{}', 401, 40101],
    ['GET', '/v1/plants', {}, undefined, 405, 40501],
    ['POST', '/v1/nowhere', good, '{"id":1,"name":"Ficus"}', 404, 40401]
  ] as const) {
    const answer = await send(method, path, headers, body)
    t.strictSame([answer.status, JSON.parse(answer.body).error], [status, error])
  }
  t.match(await send('HEAD', '/v1/plants', {}), { status: 405, headers: { allow: 'POST' }, body: '' })
  t.strictSame(warnings, [])
})

t.test('a host\'s @fastify/swagger describes the route below its prefix, with the host\'s own security', async t => {
  const app = host(t)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      components: { securitySchemes: { accounts: { type: 'http', scheme: 'bearer' } } },
      security: [{ accounts: [] }]
    }
  })
  await app.register(plantStore, { prefix: '/a', store: forgetfulStore(), tokens })
  await app.register(plantStore, { prefix: '/b', store: forgetfulStore(), tokens })
  await app.ready()
  const description = app.swagger() as unknown as { security: object[], paths: Record<string, { post: Record<string, any> }> }
  t.strictSame(Object.keys(description.paths), ['/a/plants', '/b/plants'])
  t.strictSame(description.security, [{ accounts: [] }])
  const { post } = description.paths['/b/plants'] as { post: Record<string, any> }
  t.equal(post.summary, 'Creates a new plant in the store')
  t.strictSame(post.requestBody.content['application/json'].schema.required, ['id', 'name'])
  t.match(post.requestBody.content['application/json'].schema.properties.id, { type: 'integer', format: 'int64' })
  t.match(Object.keys(post.responses), ['200', '400', '401'])
  t.notOk('security' in post, 'it names no scheme of its own')
  await keepsTheContract(t, app, '/b/plants')
})

t.test('MongoDB by the client that the host has, as @fastify/mongodb decorates it; it stays open', async t => {
  const mongo = await ScriptedMongo.start(t)
  const client = await new MongoClient(mongo.url).connect()
  t.teardown(() => client.close())
  const app = fastify()
  await app.register(plantStore, { store: mongoPlantStore({ client }), tokens })
  answersPlant(t, await create(app, '/plants', PLANT), { name: 'Ficus' })
  await app.close()
  t.strictSame(mongo.majority(), new Map([[1n, { name: 'Ficus' }]]))
  t.equal((await client.db().command({ ping: 1 })).ok, 1)
})

t.test('inside plugins of the host, wrapped in a plugin with options of its own', async t => {
  const plants: FastifyPluginAsync<{ prefix: string }> = async (app, { prefix }) => {
    await app.register(plantStore, { prefix: `${prefix}/green`, store: forgetfulStore(), tokens })
  }
  const app = host(t)
  await app.register(async scope => { await scope.register(plants, { prefix: '/inner' }) }, { prefix: '/outer' })
  await keepsTheContract(t, app, '/outer/inner/inner/green/plants')
})
