// A Fastify app that stores plants. In a clone, it runs after `npm ci && npm run build`:
//
//   node docs/examples/app.js
//
// In a folder of your own: npm install fastify @fastify/swagger @fastify/swagger-ui plant-store
// On Node.js 20, also: npm install @photostructure/sqlite@1
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fastify from 'fastify'
import plantStore, { sqlitePlantStore } from 'plant-store'

const { PORT = '3000', ACCESS_TOKEN = 'an-access-token-of-yours' } = process.env

const app = fastify({ logger: true })

// Before the plugin, whose route it documents.
await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Garden', version: '1.0.0' } } })
await app.register(swaggerUi, { routePrefix: '/docs' })

app.register(async garden => {
  // The body is a valid plant here. What a hook changes is what is stored.
  garden.addHook('preHandler', async request => {
    request.body.name = request.body.name.trim()
  })
  garden.register(plantStore, {
    store: sqlitePlantStore({ path: 'plants.db' }),
    tokens: [ACCESS_TOKEN]
  })
}, { prefix: '/v1' })

app.get('/', async (_request, reply) => reply.redirect('/docs'))

// Finishes pending requests, and closes the store.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close())

await app.listen({ port: Number(PORT) })
