import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'

/**
 * Serves `GET /metrics`, in Prometheus's text format, on a separate port, which can be closed to clients.
 * @returns the port
 */
export async function serveMetrics (host: string, port: number, registry: Registry): Promise<number> {
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, async (request, response) => {
    if (request.url?.split('?', 1)[0] !== '/metrics') return response.writeHead(404).end()
    if (request.method !== 'GET' && request.method !== 'HEAD') return response.writeHead(405, { allow: 'GET, HEAD' }).end()
    try {
      response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
    } catch {
      response.writeHead(500).end()
    }
  })
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
