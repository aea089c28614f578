import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { LoadJob } from '../../bench/load-job.js'

export type Answer = (body: string, response: ServerResponse, request: IncomingMessage) => void

/** A server that answers what the test says, closed when the test ends. */
export async function testServer (t: Test, answer: Answer): Promise<{ url: string, server: Server }> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text: string) => { body += text })
    request.on('end', () => answer(body, response, request))
  })
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

export function plantOf (body: string): string {
  const { name, tag } = JSON.parse(body)
  return JSON.stringify({ name, tag })
}

export function send (response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

export function jobFor (url: string, more: Partial<LoadJob> = {}): LoadJob {
  return {
    target: { url, token: 'a-token-for-the-bench', takesSameAgain: true, hasErrorCodes: true },
    caseName: 'create',
    order: 'growing',
    connections: 4,
    warmUp: 0.1,
    duration: 0.5,
    generator: 'autocannon',
    ...more
  }
}

export const nobody = { opened () {}, closed () {} }
