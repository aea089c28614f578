import { destination } from 'pino'

/** Bytes buffered while the log cannot be written; further lines are lost. */
const BUFFER_BYTES = 1_000_000
/** Milliseconds after which gathered lines are written, and a failed write is attempted again. */
const FLUSH_MS = 100
/** Milliseconds for which the exit of the process waits for a slow reader of the log. */
const EXIT_FLUSH_MS = 1_000

/**
 * Opens the output of the log. While it cannot be written (a full disk, a pipe without a reader), lines are buffered up
 * to a limit.
 * @param minLength bytes to gather before a write
 * @param onLost called after an outage with the number of lines lost
 */
export function logOutput (
  fd: number, minLength: number, onLost: (lost: number) => void
): ReturnType<typeof destination> {
  let exitsBefore = -Infinity
  const options = { fd, sync: true, minLength, maxLength: BUFFER_BYTES, periodicFlush: FLUSH_MS }
  // By default sonic-boom blocks the process until a slow reader catches up.
  const output = destination({ ...options, retryEAGAIN: () => performance.now() < exitsBefore })
  let [isFaulty, isWarned, lost] = [false, false, 0]
  const warn = (reason: string): void => {
    if (!isWarned) process.stderr.write(`plant-store: the log cannot be written (${reason}), continuing without logs\n`)
    isWarned = true
  }
  output.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    isFaulty = true
    if (code !== 'EAGAIN') warn(message)
  })
  output.on('drop', () => {
    lost++
    warn('the pipe is full')
  })
  output.on('write', () => {
    if (lost > 0) onLost(lost);
    [isFaulty, isWarned, lost] = [false, false, 0]
  })
  const flushSync = output.flushSync.bind(output)
  output.flushSync = () => {
    exitsBefore = performance.now() + EXIT_FLUSH_MS
    output.flush()
    try {
      // After any fault except a slow reader, sonic-boom would retry forever.
      if (!isFaulty) flushSync()
    } catch {
      // The reader is too slow: the last lines are lost.
    }
  }
  process.on('exit', output.flushSync)
  return output
}
