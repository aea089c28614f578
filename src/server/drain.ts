import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Ends a server's connections without cutting a request off: it takes no new ones, and each that there is gets
 * `Connection: close` with its next answer (RFC 9112, section 9.6). Node's own `close` ends at once those that look idle,
 * also where a request is on its way.
 * @param patience milliseconds after which connections that stay silent are left to the caller
 */
export async function drain (server: Server, patience: number): Promise<void> {
  server.prependListener('request', (_request, response) => { response.setHeader('connection', 'close') })
  const closed = new Promise(resolve => NetServer.prototype.close.call(server, resolve))
  await Promise.race([closed, sleep(patience, undefined, { ref: false })])
}
