import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { pino, type Logger } from 'pino'
import { systemClock, type Clock } from '../../clock.js'
import type { Configuration } from '../../config/configuration.js'
import { withoutPort } from '../../config/trusted-proxies.js'
import { logOutput, type LogOutput } from './log-output.js'

/**
 * Makes the logger: JSON lines, or readable lines on a terminal. A write per line would cost a third of a request, so
 * with an access log several lines share one. Buffered lines are written when the process exits.
 */
export async function createLogger ({ LOG_LEVEL, ACCESS_LOG }: Configuration, { fd, isTTY }: typeof process.stdout) {
  const output = logOutput(fd, ACCESS_LOG && !isTTY ? 4_096 : 1, lost => {
    log.warn({ lost }, `${lost} lines of this log are lost: it could not be written`)
  })
  const log: Logger = pino({ level: LOG_LEVEL }, isTTY ? await readable(output) : output)
  return log
}

async function readable (output: LogOutput): Promise<LogOutput> {
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss' })
  return { ...output, write: line => { output.write(pretty(line)) } }
}

const FAULTS_PER_SECOND = 100

/** Makes loggers of failed requests, which together write at most 100 lines a second; then one line has the count. */
export function faultLoggers (log: FastifyBaseLogger, clock: Clock = systemClock) {
  const silent = log.child({}, { level: 'silent' })
  let faults = 0

  function report (): void {
    const count = faults - FAULTS_PER_SECOND
    if (count > 0) log.warn({ count }, `${count} more responses of 500 or more within a second, without a line each`)
    faults = 0
  }

  function loggerFor (reqId: string): FastifyBaseLogger {
    if (++faults === 1) clock.setTimeout(report, 1_000).unref()
    return faults > FAULTS_PER_SECOND ? silent : log.child({ reqId })
  }

  return { loggerFor, report }
}

/**
 * Logs one line for a request when its response has ended: without its body, its credentials and its query, which may
 * be a token; without a status code if the client disconnected before the end of its response.
 */
export function logAccess (log: FastifyBaseLogger, request: FastifyRequest, { raw }: FastifyReply): void {
  const { id: reqId, method, url } = request
  const started = performance.now()
  // A Unix socket and a closed one have no address.
  const remoteAddress = withoutPort(request.ip ?? 'unix')
  raw.on('close', () => {
    const statusCode = raw.writableFinished ? raw.statusCode : undefined
    const responseTime = Number((performance.now() - started).toFixed(3))
    log.info({ reqId, method, url: url.split('?', 1)[0], statusCode, responseTime, remoteAddress }, 'request')
  })
}
