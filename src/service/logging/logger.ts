import { Writable } from 'node:stream'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { pino, stdSerializers, type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import { systemClock, type Clock } from '../../clock.js'
import type { Configuration } from '../../config/configuration.js'
import { withoutPort } from '../../config/trusted-proxies.js'
import { logOutput } from './log-output.js'

/**
 * Makes the logger: JSON lines, or readable lines on a terminal. A write per line would cost a third of a request, so
 * with an access log several lines share one. Buffered lines are written when the process exits.
 */
export async function createLogger (
  { LOG_LEVEL: level, ACCESS_LOG }: Pick<Configuration, 'LOG_LEVEL' | 'ACCESS_LOG'>, output: NodeJS.WriteStream & { fd: number }
): Promise<Logger> {
  const { logMethod, flush } = faultLimit(count => {
    log.warn({ count }, `${count} more responses of 500 or more within a second, without a line each`)
  })
  process.on('exit', flush)
  const lines = logOutput(output.fd, ACCESS_LOG && !output.isTTY ? 4_096 : 1, lost => {
    log.warn({ lost }, `${lost} lines of this log are lost: it could not be written`)
  })
  // The standard serializer turns the type and message of an error that is shown without its stack into another error.
  const serializers = { err: (err: unknown) => err instanceof Error ? stdSerializers.err(err) : err }
  const log: Logger = pino({ level, hooks: { logMethod }, serializers }, output.isTTY ? await prettily(lines) : lines)
  return log
}

async function prettily (lines: DestinationStream): Promise<DestinationStream> {
  const { PinoPretty } = await import('pino-pretty')
  // PinoPretty would destroy the output once a line cannot be written, for example after the terminal was closed.
  const destination = new Writable({
    decodeStrings: false,
    write (line: string, _encoding, done) {
      lines.write(line)
      done()
    }
  })
  const { NO_COLOR = '', TERM } = process.env
  const colorize = NO_COLOR === '' && TERM !== 'dumb'
  return PinoPretty({ colorize, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true, destination })
}

const FAULTS_PER_SECOND = 100

/** What the line of a failed response has. */
interface Fields { statusCode?: number, error?: number, err?: unknown }

/**
 * Makes the hook through which all lines pass, which writes at most 100 lines a second about responses of 500 or more.
 * @param onOmitted called at the end of a second with the number of lines that were not written
 */
export function faultLimit (onOmitted: (count: number) => void, clock: Clock = systemClock) {
  let [written, omitted] = [0, 0]

  function flush (): void {
    if (omitted > 0) onOmitted(omitted)
    written = omitted = 0
  }

  const logMethod: NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> = function (args, method) {
    const [fields, message] = args as readonly unknown[] as [Fields | undefined, string]
    const { statusCode = 0, error, err } = fields ?? {}
    if (statusCode < 500 || error === undefined) return method.apply(this, args)
    if (written === 0) clock.setTimeout(flush, 1_000).unref()
    if (written === FAULTS_PER_SECOND) {
      omitted++
      return
    }
    written++
    // Only a fault of the service itself needs its stack.
    const needsStack = statusCode === 500 || !(err instanceof Error)
    method.apply(this, [needsStack ? fields : { ...fields, err: { type: err.name, message: err.message } }, message])
  }

  return { logMethod, flush }
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
