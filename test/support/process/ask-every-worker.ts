import { request } from 'node:http'
import { token } from './program.js'

let ids = 1_000_000

/** Sends a create request on a new connection. The first 12 characters of a request id identify the worker. */
async function createOnNewConnection (address: string, bearer: string): Promise<{ status: number, worker: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    request(`${address}/plants`, { method: 'POST', agent: false, headers }, response => {
      const worker = String(response.headers['x-request-id']).slice(0, 12)
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, worker }))
    }).on('error', reject).end(JSON.stringify({ id: ++ids, name: 'Monstera' }))
  })
}

/**
 * Sends create requests, each on a new connection, until the latest response of every worker has the given status. The
 * service must run with REQUEST_ID_HEADER=x-request-id, so that each response identifies the worker.
 * @returns the number of responses with the status
 * @throws {Error} after 30 s
 */
export async function askEveryWorker (
  address: string, { bearer = token, status, workers = 2 }: { bearer?: string, status: number, workers?: number }
): Promise<number> {
  const agreeing = new Set<string>()
  const other: Record<string, number> = {}
  let count = 0
  for (const began = performance.now(); performance.now() - began < 30_000;) {
    for (const response of await Promise.all(Array.from({ length: 8 }, () => createOnNewConnection(address, bearer)))) {
      if (response.status === status) {
        agreeing.add(response.worker)
        count++
      } else {
        agreeing.delete(response.worker)
        other[response.status] = (other[response.status] ?? 0) + 1
      }
    }
    if (agreeing.size === workers) return count
  }
  throw new Error(`${agreeing.size} of ${workers} workers respond with ${status}; others: ${JSON.stringify(other)}`)
}
