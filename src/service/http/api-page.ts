import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'

/** Follows the reader's system in light and dark, and starts Swagger UI on `/openapi.json`, wherever a proxy serves it. */
const script = `
const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
const followSystem = () => document.documentElement.classList.toggle('dark-mode', systemIsDark.matches)
followSystem()
systemIsDark.addEventListener('change', followSystem)
window.onload = () => SwaggerUIBundle({
  url: new URL(location.pathname.replace(/\\/$/, '') + '/../openapi.json', location).href,
  dom_id: '#swagger-ui',
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  tryItOutEnabled: true
})`

// No choice of one, no links, no space for a longer body, no table beyond its frame; dark where Swagger UI is not.
const style = `
.swagger-ui :is(.servers-title, .servers, .response-col_links, .headers thead) { display: none }
.swagger-ui .response-controls:not(:has(option + option)) { display: none }
.swagger-ui textarea.body-param__text { min-height: 8em }
.swagger-ui .responses-table { table-layout: fixed }
.swagger-ui .responses-table .col_header:first-child { width: 4em }
html.dark-mode body { background: #1c2022 }
html.dark-mode .swagger-ui .headers .header-col { color: inherit }`

/** Serves the page at `/docs`, with Swagger UI. All links are relative. */
export async function apiPage (app: FastifyInstance): Promise<void> {
  // A file whose client has left is closed.
  app.addHook('onSend', async (request, _reply, payload) => {
    if (payload instanceof Readable) request.raw.once('close', () => { payload.destroy() })
    return payload
  })
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
