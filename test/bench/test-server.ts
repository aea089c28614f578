import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { Test } from 'tap'
import type { LoadJob } from '../../bench/load/measurement-window.js'

/** A server whose responses are sent by the test; closed after the test. */
export async function testServer (t: Test, answer: (body: string, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text: string) => { body += text })
    request.on('end', () => answer(body, response))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}

export function send (response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

/** The body of a correct response. */
export function plantOf (body: string): string {
  const { name, tag } = JSON.parse(body)
  return JSON.stringify({ name, tag })
}

export function jobFor (url: string, more: Partial<LoadJob> = {}): LoadJob {
  return { url, token: 'a-token-for-the-bench', connections: 4, leadIn: 0.1, duration: 0.6, ...more }
}
