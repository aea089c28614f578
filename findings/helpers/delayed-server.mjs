// delayed-server.mjs PORT: an HTTP server for findings. The URL says what it does: ?delay=MS, ?status=CODE, ?close
// The number of requests that it has answered stands at /count.
import http from 'node:http'

let answered = 0
const server = http.createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  if (pathname === '/count') {
    response.end(String(answered))
    return
  }
  if (searchParams.has('close')) response.setHeader('Connection', 'close')
  response.statusCode = Number(searchParams.get('status') ?? 200)
  request.resume()
  request.on('end', () => setTimeout(() => {
    answered++
    response.end('ok')
  }, Number(searchParams.get('delay') ?? 0)))
})
server.listen(Number(process.argv[2]), '127.0.0.1')
