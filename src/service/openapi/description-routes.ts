import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { FastifyError, FastifyInstance } from 'fastify'
import { ApiError } from '../../http/error-codes.js'

/** `GET /openapi.json`, the file that the build writes, and with `docs` a page to read and try it at `/docs`. */
export async function descriptionRoutes (app: FastifyInstance, { docs }: { docs: boolean }): Promise<void> {
  const description = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8')
  app.get('/openapi.json', (_request, reply) => { reply.type('application/json; charset=utf-8').send(description) })
  if (docs) await app.register(docsPage, { description })
}

async function docsPage (page: FastifyInstance, { description }: { description: string }): Promise<void> {
  page.addHook('onRequest', async ({ headers }, reply) => {
    // Range may be ignored (RFC 9110, section 14.2), and the table of errors has no 412 and 416.
    for (const name of ['range', 'if-match', 'if-unmodified-since']) Reflect.deleteProperty(headers, name)
    if (reply.raw.socket !== null) return
    // Pipelined. Responses that wait for their turn take an open file, which is not closed if the client disconnects.
    reply.raw.setHeader('connection', 'close')
    await once(reply.raw, 'socket')
  })
  page.setErrorHandler((error: FastifyError) => {
    // @fastify/static refuses, for example, a path with a NUL character.
    const isRefused = !(error instanceof ApiError) && Number(error.statusCode) < 500
    throw isRefused ? new ApiError('pathUnknown') : error
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
