import { join } from 'node:path'
import fastify from 'fastify'
import plantStore, { sqlitePlantStore } from '../../src/index.js'
import { serving, token } from './serving.js'

/** The plugin in an app of its own, as in the README. */
const app = fastify()
app.register(plantStore, { store: sqlitePlantStore({ path: join(process.env.DATA_DIR ?? '', 'plants.db') }), tokens: [token] })
await app.listen({ port: 0, host: '127.0.0.1' })
serving(app.server)
