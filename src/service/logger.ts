import { finished } from 'node:stream'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { destination, pino, type Logger } from 'pino'
import { systemClock, type Clock } from '../clock.js'
import { withoutPort, type Configuration } from './configuration/configuration.js'

/**
 * Makes the logger: JSON lines, or readable lines on a terminal. A write per line would cost a third of a request, so
 * with an access log several lines share one, after 100 ms at most. Buffered lines are written when the process exits.
 */
export async function createLogger (
  { LOG_LEVEL, ACCESS_LOG }: Configuration, { fd, isTTY }: typeof process.stdout
): Promise<Logger> {
  const output = logOutput(fd, ACCESS_LOG && !isTTY ? 4_096 : 1)
  if (!isTTY) return pino({ level: LOG_LEVEL }, output)
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss' })
  return pino({ level: LOG_LEVEL }, { ...output, write: (line: string) => { output.write(pretty(line)) } })
}

/**
 * Opens the output of the log. While it cannot be written (a full disk, a pipe without a reader), lines are buffered up
 * to a limit, and further ones are lost.
 * @param minLength bytes to gather before a write
 */
function logOutput (fd: number, minLength: number) {
  let isFaulty = false
  let isWarned = false
  let waitsUntil = -Infinity
  const output = destination({
    fd,
    sync: true,
    minLength,
    maxLength: 1_000_000,
    periodicFlush: 100,
    // By default sonic-boom blocks the process until a slow reader catches up.
    retryEAGAIN: () => performance.now() < waitsUntil
  })

  function warn (reason: string): void {
    if (!isWarned) process.stderr.write(`plant-store: the log cannot be written (${reason}), continuing without logs\n`)
    isWarned = true
  }

  output.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    isFaulty = true
    if (code !== 'EAGAIN') warn(message)
  })
  output.on('drop', () => { warn('the pipe is full') })
  output.on('write', () => {
    isFaulty = false
    isWarned = false
  })

  function flushSync (): void {
    // Before the process exits, a slow reader has a second to catch up.
    waitsUntil = performance.now() + 1_000
    output.flush()
    // After any other fault, sonic-boom would retry forever.
    if (isFaulty) return
    try {
      output.flushSync()
    } catch {
      // The last lines are lost.
    }
  }

  process.on('exit', flushSync)
  return { write: (line: string) => { output.write(line) }, flushSync }
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
  const [path = ''] = url.replace(/^(\w+:\/\/)[^/?#]*@/, '$1').split(/[?#]/, 1)
  const started = performance.now()
  // A Unix socket and a closed one have no address.
  const remoteAddress = withoutPort(request.ip ?? 'unix')
  finished(raw, () => {
    const statusCode = raw.writableFinished ? raw.statusCode : undefined
    const responseTime = Number((performance.now() - started).toFixed(3))
    log.info({ reqId, method, url: path, statusCode, responseTime, remoteAddress }, 'request')
  })
}
