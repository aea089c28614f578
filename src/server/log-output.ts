import { destination } from 'pino'

type Output = ReturnType<typeof destination>

/** Bytes that are kept while the log cannot be written; what comes then is lost. */
const KEPT = 1_000_000
/** Milliseconds until it is tried again. */
const RETRY = 100
/** Milliseconds that the end of the process waits for a slow reader. */
const LAST_WAIT = 1_000

/**
 * Where the log goes. One that cannot be written (a full disk, a pipe that nobody reads) neither ends the service nor
 * holds it up: the lines are kept, as far as there is room, and go out when it can be written again.
 * @param fd the file descriptor
 * @param settings of sonic-boom, https://github.com/pinojs/sonic-boom#api
 * @param told is called after an outage, with the lines that were lost
 */
export function logOutput (fd: number, settings: object, told: (lost: number) => void): Output {
  let end = -Infinity
  // Of itself sonic-boom waits for a slow reader for ever, with the whole process.
  const retryEAGAIN = (): boolean => performance.now() < end
  const output = destination({ fd, sync: true, minLength: 1, maxLength: KEPT, retryEAGAIN, ...settings } as object)
  const flushSync = output.flushSync.bind(output)
  let fault: NodeJS.ErrnoException | undefined
  let retry: NodeJS.Timeout | undefined
  let lost = 0

  output.on('error', (error: NodeJS.ErrnoException) => {
    if (fault === undefined && error.code !== 'EAGAIN') warn(error.message)
    fault = error
    retry ??= setInterval(() => output.flush(), RETRY).unref()
  })
  output.on('drop', () => {
    if (lost++ === 0 && fault?.code === 'EAGAIN') warn('nobody reads it')
  })
  output.on('write', () => {
    if (fault === undefined) return
    fault = undefined
    clearInterval(retry)
    retry = undefined
    if (lost > 0) told(lost)
    lost = 0
  })
  output.flushSync = () => {
    end = performance.now() + LAST_WAIT
    output.flush()
    // After any fault but a slow reader it would try for ever.
    if (fault !== undefined) return
    try {
      flushSync()
    } catch {
      // The reader was too slow: the last lines are lost.
    }
  }
  return output
}

function warn (reason: string): void {
  process.stderr.write(`plant-store: the log cannot be written (${reason}): the service goes on without\n`)
}
