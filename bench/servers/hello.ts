import fastify from 'fastify'
import { serving } from './serving.js'

/** The smallest Fastify server, with which the `start` case compares the service. */
const app = fastify()
app.get('/health/live', () => ({ hello: 'world' }))
await app.listen({ port: 0, host: '127.0.0.1' })
serving(app.server)
