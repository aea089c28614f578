import { destination } from 'pino'

type Output = ReturnType<typeof destination>

/** Bytes buffered while the log cannot be written; further lines are lost. */
const BUFFER_BYTES = 1_000_000
/** Milliseconds between attempts to write again. */
const RETRY_MS = 100
/** Milliseconds for which the exit of the process waits for a slow reader. */
const EXIT_FLUSH_TIMEOUT_MS = 1_000

/**
 * Opens the output of the log. While it cannot be written (a full disk, a pipe without a reader), the service
 * continues, and lines are buffered up to a limit.
 * @param settings of sonic-boom, https://github.com/pinojs/sonic-boom#api
 * @param onLost called after an outage with the number of lines lost
 */
export function logOutput (fd: number, settings: object, onLost: (lost: number) => void): Output {
  let retryUntil = -Infinity
  // By default sonic-boom blocks the process until a slow reader catches up.
  const retryEAGAIN = (): boolean => performance.now() < retryUntil
  const options = { fd, sync: true, minLength: 1, maxLength: BUFFER_BYTES, retryEAGAIN, ...settings }
  const output = destination(options)
  const flushSync = output.flushSync.bind(output)
  let fault: NodeJS.ErrnoException | undefined
  let retry: NodeJS.Timeout | undefined
  let lost = 0

  output.on('error', (error: NodeJS.ErrnoException) => {
    if (fault === undefined && error.code !== 'EAGAIN') warn(error.message)
    fault = error
    retry ??= setInterval(() => output.flush(), RETRY_MS).unref()
  })
  output.on('drop', () => {
    if (lost++ === 0 && fault?.code === 'EAGAIN') warn('the pipe is full')
  })
  output.on('write', () => {
    if (fault === undefined) return
    fault = undefined
    clearInterval(retry)
    retry = undefined
    if (lost > 0) onLost(lost)
    lost = 0
  })
  output.flushSync = () => {
    retryUntil = performance.now() + EXIT_FLUSH_TIMEOUT_MS
    output.flush()
    // After any fault except a slow reader, sonic-boom would retry forever.
    if (fault !== undefined) return
    try {
      flushSync()
    } catch {
      // The reader is too slow: the last lines are lost.
    }
  }
  return output
}

function warn (reason: string): void {
  process.stderr.write(`plant-store: the log cannot be written (${reason}), continuing without logs\n`)
}
