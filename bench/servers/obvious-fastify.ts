import bearerAuth from '@fastify/bearer-auth'
import Fastify from 'fastify'
import { announceServer, endOnSignal, token } from './announce.js'
import { openPeerStore } from './peer-store.js'
import type { Plant } from './peer-store.js'

/** Fastify as its guide shows it: a JSON schema for Ajv, the keys of @fastify/bearer-auth, one insert for each request. */
const store = await openPeerStore()
const app = Fastify()
const error = { type: 'object', properties: { error: { type: 'integer' }, message: { type: 'string' } } }
const plant = { name: { type: 'string' }, tag: { type: 'string' } }

await app.register(bearerAuth, { keys: new Set([token]) })
app.setErrorHandler<Error & { statusCode?: number }>((fault, _request, reply) => {
  const status = fault.statusCode ?? 500
  reply.code(status).send({ error: status, message: fault.message })
})
app.post<{ Body: Plant }>('/plants', {
  schema: {
    body: { type: 'object', required: ['id', 'name'], properties: { id: { type: 'integer' }, ...plant } },
    response: { 200: { type: 'object', properties: plant }, 400: error }
  }
}, async (request, reply) => {
  const { name, tag } = request.body
  const outcome = store.insert(request.body)
  if (!(typeof outcome === 'boolean' ? outcome : await outcome)) {
    return reply.code(400).send({ error: 400, message: 'this id is taken' })
  }
  return { name, tag }
})

await app.listen({ port: 0, host: '127.0.0.1' })
announceServer(app.server)
endOnSignal(async () => {
  app.server.closeAllConnections()
  await app.close()
  await store.close()
})
