import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { aggregate, type MetricsData } from './process-metrics.js'

/**
 * Serves `GET /metrics`, in Prometheus's text format, on a separate port, which can be closed to clients.
 * @returns the port
 */
export async function serveMetrics (
  host: string, port: number, processes: () => Promise<MetricsData[]>
): Promise<number> {
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, async (request, response) => {
    const path = request.url?.split('?', 1)[0]
    if (path !== '/metrics') return response.writeHead(404).end()
    if (request.method !== 'GET' && request.method !== 'HEAD') return response.writeHead(405, { allow: 'GET, HEAD' }).end()
    // Pipelined. Responses that wait for their turn take memory, without a limit.
    if (response.socket === null) response.setHeader('connection', 'close')
    try {
      const text = await aggregate(await processes()).metrics()
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
    } catch {
      response.writeHead(500).end()
    }
  })
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
