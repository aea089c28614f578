import type { LoggerOptions } from 'pino'
import { systemClock, type Clock } from '../../clock.js'

const LINES_PER_SECOND = 100

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>

/**
 * Limits the lines of responses of 500 or more to 100 a second.
 * @param onOmitted called at the end of a second with the number of lines that were not written
 */
export function faultLimit (onOmitted: (count: number) => void, clock: Clock = systemClock) {
  let [written, omitted] = [0, 0]

  /** Ends a second before its time. */
  function flush (): void {
    if (omitted > 0) onOmitted(omitted)
    written = omitted = 0
  }

  /** The hook through which all lines pass. */
  const logMethod: LogHook = function (args, method) {
    const [fields, message]: readonly unknown[] = args
    if (!isFault(fields)) return method.apply(this, args)
    if (written === 0) clock.setTimeout(flush, 1_000).unref()
    if (written === LINES_PER_SECOND) {
      omitted++
      return
    }
    written++
    const { statusCode, err } = fields
    // Only a fault of the service itself needs its stack.
    const needsStack = statusCode === 500 || !(err instanceof Error)
    method.apply(this, [needsStack ? fields : { ...fields, err: { type: err.name, message: err.message } }, String(message)])
  }

  return { logMethod, flush }
}

function isFault (fields: unknown): fields is { statusCode: number, err?: unknown } {
  return typeof fields === 'object' && fields !== null && 'statusCode' in fields && Number(fields.statusCode) >= 500 && 'error' in fields
}
