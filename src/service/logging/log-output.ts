import { destination } from 'pino'

/**
 * Opens the output of the log. While it cannot be written (a full disk, a pipe without a reader), lines are buffered up
 * to a limit.
 * @param minLength bytes to gather before a write, for 100 ms at most
 * @param onLost called after an outage with the number of lines lost
 */
export function logOutput (
  fd: number, minLength: number, onLost: (lost: number) => void
): ReturnType<typeof destination> {
  let waitsUntil = -Infinity
  const options = { fd, sync: true, minLength, maxLength: 1_000_000, periodicFlush: 100 }
  // By default sonic-boom blocks the process until a slow reader catches up.
  const output = destination({ ...options, retryEAGAIN: () => performance.now() < waitsUntil })
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
  output.on('write', () => { isFaulty = isWarned = false })
  // Not earlier: while the buffer is full, this line would be lost, too.
  output.on('drain', () => {
    if (lost > 0) onLost(lost)
    lost = 0
  })
  const flushSync = output.flushSync.bind(output)
  output.flushSync = () => {
    // A slow reader has another second.
    waitsUntil = performance.now() + 1_000
    output.flush()
    try {
      // After any fault except a slow reader, sonic-boom would retry forever.
      if (!isFaulty) flushSync()
    } catch {
      // The last lines are lost.
    }
  }
  process.on('exit', output.flushSync)
  return output
}
