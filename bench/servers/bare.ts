import { createServer, type Server } from 'node:http'

/** The least that a server does: it receives the body, parses it, and responds. No token, no validation, no store. */
export function bareServer (): Server {
  return createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => { chunks.push(chunk) })
    request.on('end', () => {
      const { name, tag } = JSON.parse(chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString())
      const body = JSON.stringify({ name, tag })
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
      response.end(body)
    })
  })
}
