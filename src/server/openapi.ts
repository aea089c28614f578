import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { version } from './version.js'

/** `GET /openapi.json`: the description of every route that is registered after it, from the schemas that validate. */
export async function openapi (app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'plant-store',
        version,
        description: 'Stores plants, durably.',
        license: { name: 'MIT', identifier: 'MIT' }
      },
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An access token, as RFC 6750 has it' } }
      }
    }
  })
  app.get('/openapi.json', { schema: { hide: true } as object }, (_request, reply) => { reply.send(app.swagger()) })
}
