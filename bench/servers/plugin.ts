import fastify from 'fastify'
import plantStore from '../../src/index.js'
import { serving, token } from './serving.js'

/** The plugin with a store that resolves immediately: the cost of the HTTP side alone. */
const stored = Promise.resolve('stored' as const)
const app = fastify()
app.register(plantStore, { store: { create: () => stored }, tokens: [token] })
await app.listen({ port: 0, host: '127.0.0.1' })
serving(app.server)
