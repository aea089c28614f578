import { createServer, type Server } from 'node:http'
import { once } from 'node:events'

/**
 * Serves `GET /metrics` on a port of its own, which can be closed off from where the plants come from.
 * @param text makes the answer
 */
export async function metricsServer (host: string, port: number, text: () => Promise<string>): Promise<Server> {
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, async (request, response) => {
    const path = request.url?.split('?', 1)[0]
    if (path !== '/metrics') return response.writeHead(404).end()
    if (request.method !== 'GET' && request.method !== 'HEAD') return response.writeHead(405, { allow: 'GET, HEAD' }).end()
    try {
      const body = await text()
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body)
    } catch {
      response.writeHead(500).end()
    }
  })
  server.listen(port, host)
  await once(server, 'listening')
  return server
}
