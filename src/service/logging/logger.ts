import { Writable } from 'node:stream'
import { pino, stdSerializers, type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import type { Configuration } from '../../config/configuration.js'
import { faultSummary, logOutput } from './conditions.js'

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
  const faults = faultSummary()
  const options = {
    level,
    hooks: { logMethod: summarizing(faults, () => log) },
    // The standard one turns the type and message of an error that is shown without its stack into another error.
    serializers: { err: (err: unknown) => err instanceof Error ? stdSerializers.err(err) : err }
  }
  const log: Logger = output.isTTY ? pino(options, await prettily(lines)) : pino(options, lines)
  process.on('exit', () => {
    faults.flush()
    lines.flushSync()
  })
  return log
}

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>

/** Makes the hook through which all lines pass. Responses of 500 or more of the same kind are summed up. */
function summarizing ({ report }: ReturnType<typeof faultSummary>, root: () => Logger): LogHook {
  return function (args, method) {
    const [fields, message]: readonly unknown[] = args
    if (!isFault(fields)) return method.apply(this, args)
    const { statusCode, error, err } = fields
    // Only a fault of the service itself needs its stack.
    const needsStack = statusCode === 500 || !(err instanceof Error)
    const shown = needsStack ? fields : { ...fields, err: { type: err.name, message: err.message } }
    report(
      `${error} ${message} ${err instanceof Error ? err.message : ''}`,
      String(this.bindings().reqId),
      () => method.apply(this, [shown, String(message)]),
      ({ count, ids }) => method.apply(root(), [{ statusCode, error, count, reqIds: ids }, `${message} (${count} more)`])
    )
  }
}

function isFault (fields: unknown): fields is { statusCode: number, error: number, err?: unknown } {
  return typeof fields === 'object' && fields !== null && 'statusCode' in fields && 'error' in fields && Number(fields.statusCode) >= 500
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
  return PinoPretty({ colorize: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true, destination })
}
