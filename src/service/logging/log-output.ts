import { destination } from 'pino'

export interface LogOutput {
  write (line: string): void
  /** Writes what is buffered, as far as the output takes it. */
  flushSync (): void
}

/**
 * Opens the output of the log. While it cannot be written (a full disk, a pipe without a reader), lines are buffered up
 * to a limit. What is buffered is written when the process exits.
 * @param minLength bytes to gather before a write, for 100 ms at most
 * @param onLost called after an outage with the number of lines lost
 */
export function logOutput (fd: number, minLength: number, onLost: (lost: number) => void): LogOutput {
  let isFaulty = false
  let isWarned = false
  let lost = 0
  let waitsUntil = -Infinity
  const output = destination({
    fd,
    sync: true,
    minLength,
    maxLength: 1_000_000,
    periodicFlush: 100,
    // By default sonic-boom blocks the process until a slow reader catches up.
    retryEAGAIN: () => performance.now() < waitsUntil
  })

  function warn (reason: string): void {
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
    isFaulty = false
    isWarned = false
  })
  // Not earlier: while the buffer is full, this line would be lost, too.
  output.on('drain', () => {
    if (lost > 0) onLost(lost)
    lost = 0
  })

  function flushSync (): void {
    // Before the process exits, a slow reader has a second to catch up.
    waitsUntil = performance.now() + 1_000
    output.flush()
    // After any other fault, sonic-boom would retry forever.
    if (isFaulty) return
    try {
      output.flushSync()
    } catch {
      // The last lines are lost.
    }
  }

  process.on('exit', flushSync)
  return { write: line => { output.write(line) }, flushSync }
}
