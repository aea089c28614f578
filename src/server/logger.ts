import { pino, type Logger } from 'pino'
import { PinoPretty } from 'pino-pretty'

/** JSON lines for machines; on a terminal, lines for people. */
export function createLogger (level: string, output: NodeJS.WriteStream): Logger {
  if (!output.isTTY) return pino({ level })
  return pino({ level }, PinoPretty({ colorize: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true }))
}
