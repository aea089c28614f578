import { pino, type DestinationStream, type Logger } from 'pino'
import type { Configuration } from './configuration.js'
import { logOutput } from './log-output.js'

/** Milliseconds after which a line is written that fills no buffer. */
const FLUSH = 100

/**
 * JSON lines for machines; on a terminal, lines for people.
 *
 * A write for each line would cost a third of a request, so with an access log some lines share one. Each write stays
 * below 4,096 bytes, which a pipe takes whole (POSIX, PIPE_BUF): lines of several processes do not mix. At the end of
 * the process what is left is written.
 */
export async function createLogger ({ LOG_LEVEL: level, ACCESS_LOG }: Pick<Configuration, 'LOG_LEVEL' | 'ACCESS_LOG'>, output: NodeJS.WriteStream & { fd: number }): Promise<Logger> {
  // What is written beside the log, such as the first screen, may fail as well.
  for (const stream of [output, process.stderr]) stream.on('error', () => {})
  const gathers = ACCESS_LOG && !output.isTTY
  const settings = gathers ? { minLength: 3_500, maxWrite: 4_096 } : {}
  const lines = logOutput(output.fd, settings, lost => { log.warn({ lost }, `${lost} lines of this log are lost: it could not be written`) })
  const log = output.isTTY ? pino({ level }, await prettily(lines)) : pino({ level }, lines)
  if (gathers) setInterval(() => { lines.flush() }, FLUSH).unref()
  process.on('exit', () => { lines.flushSync() })
  return log
}

async function prettily (lines: DestinationStream): Promise<DestinationStream> {
  const { PinoPretty } = await import('pino-pretty')
  return PinoPretty({ colorize: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true, destination: lines as never })
}
