import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** `GET /docs`: a page that shows the API and tries it out. All of it comes from this service, nothing from a network. */
export async function docs (app: FastifyInstance): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, validatorUrl: null, syntaxHighlight: false },
    theme: { title: 'plant-store' }
  })
}
