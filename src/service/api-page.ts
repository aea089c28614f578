import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { ApiError } from '../api-error.js'

/**
 * Follows the reader's system in light and dark, and starts Swagger UI on `/openapi.json`, instead of the script of
 * @fastify/swagger-ui, which reads a copy of the document.
 */
const script = `
const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
const followSystem = () => document.documentElement.classList.toggle('dark-mode', systemIsDark.matches)
followSystem()
systemIsDark.addEventListener('change', followSystem)

window.onload = () => SwaggerUIBundle({
  url: new URL(location.pathname.replace(/\\/$/, '') + '/../openapi.json', location).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  tryItOutEnabled: true,
  validatorUrl: null,
  syntaxHighlight: false
})
`

const style = `
/* A list of one server is no choice, and no response has links. */
.swagger-ui .scheme-container .servers-title, .swagger-ui .scheme-container .servers { display: none }
.swagger-ui .response-col_links { display: none }

/* On a narrow screen, an example would reach beyond its frame. */
.swagger-ui .responses-table { table-layout: fixed }
.swagger-ui .responses-table .col_header:first-child { width: 4em }

/* What the dark theme of Swagger UI leaves light, or dark. */
html.dark-mode body { background: #1c2022 }
html.dark-mode .swagger-ui .headers .header-col { color: inherit }
`

/**
 * Serves the page at `/docs`, with Swagger UI, and leads from `/` to it. All links are relative: a proxy may serve them
 * under a prefix.
 */
export async function apiPage (app: FastifyInstance): Promise<void> {
  // For other methods, / is no endpoint, as it is without the page.
  const onRequest: onRequestHookHandler = ({ method }, _reply, done) => {
    done(method === 'GET' || method === 'HEAD' ? undefined : new ApiError('pathUnknown'))
  }
  app.all('/', { onRequest }, (_request, reply) => reply.redirect('./docs'))
  await app.register(import('@fastify/swagger-ui'), {
    routePrefix: '/docs',
    indexPrefix: '.',
    // The default upgrades requests to HTTPS, which leaves a page over plain HTTP blank, except on localhost.
    staticCSP: "default-src 'self'; base-uri 'self'; frame-ancestors 'self'; img-src 'self' data:; object-src 'none'",
    theme: {
      title: 'plant-store',
      css: [{ filename: 'page.css', content: style }],
      js: [{ filename: 'page.js', content: script }]
    }
  })
}
