import { destination, pino, type Logger } from 'pino'
import type { Configuration } from './configuration.js'

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
  if (output.isTTY) {
    const { PinoPretty } = await import('pino-pretty')
    return pino({ level }, PinoPretty({ colorize: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true }))
  }
  if (!ACCESS_LOG) return pino({ level })
  const lines = destination({ fd: output.fd, sync: true, minLength: 3_500, maxWrite: 4_096 } as object)
  setInterval(() => { lines.flush() }, FLUSH).unref()
  process.on('exit', () => { lines.flushSync() })
  return pino({ level }, lines)
}
