import fastify from 'fastify'
import { serving } from './serving.js'

/** The yardstick of the time to a first answer. */
const app = fastify()
app.get('/health/live', () => ({ hello: 'world' }))
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
serving(app.server)
