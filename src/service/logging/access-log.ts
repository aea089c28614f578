import type { FastifyBaseLogger, FastifyReply, FastifyRequest, onResponseHookHandler } from 'fastify'
import { pino, type DestinationStream } from 'pino'
import { traceId } from '../../http/error-handler.js'

/**
 * Makes the hook that logs one line for each request, without its body, its credentials and its query, which may be a
 * token. It formats pino's line itself, which takes 1.8 µs instead of pino's 4.5; a whole request takes about 30.
 */
export function accessLine (log: FastifyBaseLogger): onResponseHookHandler {
  const stream: DestinationStream | undefined = Reflect.get(log, pino.symbols.streamSym)
  // The process id and host name of every line.
  const fields = Reflect.get(log, pino.symbols.chindingsSym) ?? ''
  const off = stream === undefined || !['trace', 'debug', 'info'].includes(log.level)

  return function logAccess (request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    if (!off) {
      const trace = traceId(request.headers.traceparent)
      stream.write(`{"level":30,"time":${Date.now()}${fields},"reqId":${quoted(request.id)},"method":"${request.method}","url":${quoted(pathOf(request.url))},` +
        `"statusCode":${reply.statusCode},"responseTime":${reply.elapsedTime.toFixed(3)},"remoteAddress":${quoted(request.ip ?? 'unix')}${trace === undefined ? '' : `,"traceId":"${trace}"`},"msg":"request"}\n`)
    }
    done()
  }
}

function pathOf (url: string): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

/** Quotes a string as JSON; nearly all paths, ids and addresses need no escape. */
function quoted (text: string): string {
  return /^[\w/.:~-]*$/.test(text) ? `"${text}"` : JSON.stringify(text)
}
