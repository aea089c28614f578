import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../http/error-codes.js'
import { openapi } from './openapi.js'

/** `GET /openapi.json`, and with `docs` a page to read and try it at `/docs`. */
export async function descriptionRoutes (app: FastifyInstance, { docs }: { docs: boolean }): Promise<void> {
  const description = JSON.stringify(openapi, undefined, 2)
  app.get('/openapi.json', (_request, reply) => { reply.type('application/json; charset=utf-8').send(description) })
  if (docs) await app.register(docsPage, { description })
}

async function docsPage (page: FastifyInstance, { description }: { description: string }): Promise<void> {
  page.addHook('onRequest', async ({ headers }, reply) => {
    // Range may be ignored (RFC 9110, section 14.2), and the table of errors has no 412 and 416.
    for (const name of ['range', 'if-match', 'if-unmodified-since']) Reflect.deleteProperty(headers, name)
    // The file of a response that waits for its turn would stay open if the client disconnects.
    if (reply.raw.socket === null) throw new ApiError('notStored', 'Requests for the API page cannot be pipelined: wait for each response')
  })
  await page.register(import('@fastify/swagger'), { mode: 'static', specification: { document: JSON.parse(description) } })
  await page.register(import('@fastify/swagger-ui'), {
    routePrefix: '/docs',
    // The default upgrades requests to HTTPS, which leaves a page over plain HTTP blank, except on localhost.
    staticCSP: "default-src 'self'; base-uri 'self'; frame-ancestors 'self'; img-src 'self' data:; object-src 'none'",
    uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, validatorUrl: null, syntaxHighlight: false },
    theme: { title: 'plant-store' }
  })
}
