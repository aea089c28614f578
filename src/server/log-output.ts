import { destination } from 'pino'

type Output = ReturnType<typeof destination>

/** Characters that are kept while the log cannot be written; what comes then is lost. */
const KEPT = 1_000_000

/**
 * Where the log goes. One that cannot be written (a full disk, a pipe that nobody reads any more) neither ends the
 * service nor holds it up: stderr says so, and the lines go on when it can be written again.
 * @param fd the file descriptor
 * @param settings of sonic-boom, https://github.com/pinojs/sonic-boom#api
 * @param told is called after an outage, with the lines that were lost
 */
export function logOutput (fd: number, settings: object, told: (lost: number) => void): Output {
  const output = destination({ fd, sync: true, maxLength: KEPT, ...settings } as object)
  const flushSync = output.flushSync.bind(output)
  let isFailing = false
  let lost = 0
  output.on('error', ({ message }: Error) => {
    if (isFailing) return
    isFailing = true
    process.stderr.write(`plant-store: the log cannot be written (${message}): the service goes on without\n`)
  })
  output.on('write', () => {
    if (!isFailing) return
    isFailing = false
    if (lost > 0) told(lost)
    lost = 0
  })
  output.on('drop', () => { lost++ })
  // sonic-boom's own would try for ever.
  output.flushSync = () => {
    output.flush()
    if (!isFailing) flushSync()
  }
  return output
}
