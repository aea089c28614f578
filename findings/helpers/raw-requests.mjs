// For findings with proxies: POST requests written to one socket as they are, and a server that says what it got.
import http from 'node:http'
import net from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

/** A POST with a body of `size` bytes. */
export function post (size, headers = '') {
  return `POST /plants HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n${headers}\r\n${'x'.repeat(size)}`
}

/**
 * Writes the parts with `pause` milliseconds between them, and resolves with the status line of the response, or with
 * "closed without a response".
 */
export async function send (port, parts, pause = 0) {
  const socket = net.connect(port, '127.0.0.1')
  let response = ''
  const answered = new Promise(resolve => {
    socket.on('data', chunk => {
      response += chunk
      if (response.includes('\r\n\r\n')) resolve()
    })
    socket.on('close', resolve)
    socket.on('error', resolve)
  })
  for (const [index, part] of parts.entries()) {
    if (index > 0) await Promise.race([answered, wait(pause)])
    if (!socket.destroyed) socket.write(part)
  }
  await answered
  socket.destroy()
  return response.split('\r\n')[0] || 'closed without a response'
}

/** An HTTP server on a port, or a free one; `respond` is called when the request has arrived, with its number. */
export async function startServer (respond, port = 0) {
  let requests = 0
  const server = http.createServer((request, response) => {
    request.resume()
    request.on('end', () => respond(response, ++requests, request))
  })
  await new Promise(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    requests: () => requests,
    close () {
      server.closeAllConnections()
      server.close()
    }
  }
}
