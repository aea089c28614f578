import { finished } from 'node:stream'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { destination, pino, type DestinationStream, type Logger } from 'pino'
import type { Configuration } from './configuration/configuration.js'

/**
 * Makes the logger: JSON lines, or readable lines on a terminal. A write per line would cost a third of a request, so
 * with an access log several lines share one, after 100 ms at most. Buffered lines are written when the process exits.
 */
export async function createLogger (
  { LOG_LEVEL, ACCESS_LOG }: Configuration, stdout: typeof process.stdout
): Promise<Logger> {
  // As pino does: under PM2 in cluster mode, for example, lines go to a file by a `write` of its own.
  const isReplaced = stdout.write !== stdout.constructor.prototype.write
  const output = isReplaced ? stdout : logOutput(stdout.fd, ACCESS_LOG && !stdout.isTTY ? 4_096 : 1)
  if (!stdout.isTTY) return pino({ level: LOG_LEVEL }, output)
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss', singleLine: true })
  return pino({ level: LOG_LEVEL }, { write: line => { output.write(pretty(line)) } })
}

/**
 * Opens the output of the log. While it cannot be written, as on a full disk, a megabyte of lines waits, and further
 * ones are lost.
 * @param minLength bytes to gather before a write
 */
function logOutput (fd: number, minLength: number): DestinationStream {
  let isFaulty = false
  const output = destination({ fd, sync: true, minLength, maxLength: 1_000_000, periodicFlush: 100 })
  output.on('error', ({ message }: Error) => {
    if (!isFaulty) process.stderr.write(`plant-store: the log cannot be written (${message}), continuing without logs\n`)
    isFaulty = true
  })
  output.on('write', () => { isFaulty = false })
  process.on('exit', () => {
    output.flush()
    // After a fault, it would try forever.
    if (!isFaulty) output.flushSync()
  })
  return output
}

/**
 * Logs one line for a request when its response has ended: without its body, its credentials and its query, which may
 * be a token; without a status code if the client disconnected before the end of its response.
 */
export function logAccess (log: FastifyBaseLogger, request: FastifyRequest, { raw }: FastifyReply): void {
  const { id: reqId, method, url } = request
  const [path = ''] = url.replace(/^(\w+:\/\/)[^/?#]*@/, '$1').split(/[?#]/, 1)
  const started = performance.now()
  // A Unix socket and a closed one have no address.
  const remoteAddress = request.ip ?? 'unix'
  finished(raw, () => {
    const statusCode = raw.writableFinished ? raw.statusCode : undefined
    const responseTime = Number((performance.now() - started).toFixed(3))
    log.info({ reqId, method, url: path, statusCode, responseTime, remoteAddress }, 'request')
  })
}
