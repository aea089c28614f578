import bearerAuth from '@fastify/bearer-auth'
import fastify from 'fastify'
import { serving, token } from './serving.js'
import { openPeerStore, type Plant } from './stores/peer-store.js'

/** Fastify as in its guide: JSON schemas for validation and serialization, @fastify/bearer-auth for the token. */
const store = await openPeerStore()
const app = fastify()
const plant = { name: { type: 'string' }, tag: { type: 'string' } }

await app.register(bearerAuth, { keys: new Set([token]) })
app.post<{ Body: Plant }>('/plants', {
  schema: {
    body: { type: 'object', required: ['id', 'name'], properties: { id: { type: 'integer' }, ...plant } },
    response: { 200: { type: 'object', properties: plant } }
  }
}, async (request, reply) => {
  const { name, tag } = request.body
  if (!await store.insert(request.body)) return reply.code(400).send({ error: 400, message: 'this id is taken' })
  return { name, tag }
})

await app.listen({ port: 0, host: '127.0.0.1' })
serving(app.server)
