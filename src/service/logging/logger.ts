import { Writable } from 'node:stream'
import { pino, stdSerializers, type DestinationStream, type Logger } from 'pino'
import type { Configuration } from '../../config/configuration.js'
import { faultLimit } from './fault-limit.js'
import { logOutput } from './log-output.js'

/**
 * Makes the logger: JSON lines, or readable lines on a terminal. A write per line would cost a third of a request, so
 * with an access log several lines share one. Buffered lines are written when the process exits.
 */
export async function createLogger (
  { LOG_LEVEL: level, ACCESS_LOG }: Pick<Configuration, 'LOG_LEVEL' | 'ACCESS_LOG'>, output: NodeJS.WriteStream & { fd: number }
): Promise<Logger> {
  const lines = logOutput(output.fd, ACCESS_LOG && !output.isTTY ? 4_096 : 1, lost => {
    log.warn({ lost }, `${lost} lines of this log are lost: it could not be written`)
  })
  const { logMethod, flush } = faultLimit(count => {
    log.warn({ count }, `${count} more responses of 500 or more within a second, without a line each`)
  })
  const options = {
    level,
    hooks: { logMethod },
    // The standard one turns the type and message of an error that is shown without its stack into another error.
    serializers: { err: (err: unknown) => err instanceof Error ? stdSerializers.err(err) : err }
  }
  const log: Logger = output.isTTY ? pino(options, await prettily(lines)) : pino(options, lines)
  process.on('exit', () => {
    flush()
    lines.flushSync()
  })
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
