import type { FastifyBaseLogger } from 'fastify'
import { destination } from 'pino'
import { systemClock, type Clock, type Timer } from '../../clock.js'

const READINESS_INTERVAL_MS = 2_000
const SUMMARY_INTERVAL_MS = 1_000
/** Further kinds of faults are counted as one, as messages may differ each time. */
const MOST_KINDS = 20
const MOST_IDS = 100
/** Bytes buffered while the log cannot be written; further lines are lost. */
const BUFFER_BYTES = 1_000_000
/** Milliseconds after which gathered lines are written, and a failed write is attempted again. */
const FLUSH_MS = 100
/** Milliseconds for which the exit of the process waits for a slow reader of the log. */
const EXIT_FLUSH_TIMEOUT_MS = 1_000

/** Logs the loss of readiness and its return; returns a function that stops it. */
export function logReadiness (
  fault: () => Promise<string | undefined>, log: FastifyBaseLogger, clock: Clock = systemClock
): () => void {
  let notReady: string | undefined
  let timer: Timer
  async function check (): Promise<void> {
    timer = clock.setTimeout(check, READINESS_INTERVAL_MS)
    timer.unref()
    const reason = await fault()
    if (notReady === undefined && reason !== undefined) log.warn(`not ready: ${reason}`)
    if (notReady !== undefined && reason === undefined) log.info('ready again')
    notReady = reason
  }
  check()
  return () => clock.clearTimeout(timer)
}

/** The number of faults of one kind since its last line, and the ids of the first ones' requests. */
interface Repeated { count: number, ids: string[] }

/** Logs the first fault of a kind immediately, and each second how many followed, with their request ids. */
export function faultSummary (clock: Clock = systemClock) {
  const kinds = new Map<string, Repeated & { logRepeated: (repeated: Repeated) => void }>()

  /** @param kind what faults of the same kind have in common */
  function report (kind: string, id: string, log: () => void, logRepeated: (repeated: Repeated) => void): void {
    const key = kinds.has(kind) || kinds.size < MOST_KINDS ? kind : 'others'
    const known = kinds.get(key)
    if (known !== undefined) {
      known.count++
      if (known.ids.length < MOST_IDS) known.ids.push(id)
      return
    }
    if (kinds.size === 0) flushLater()
    kinds.set(key, { count: 0, ids: [], logRepeated })
    log()
  }

  /** Logs what has repeated until now. */
  function flush (): void {
    for (const [kind, { count, ids, logRepeated }] of kinds) {
      kinds.set(kind, { count: 0, ids: [], logRepeated })
      if (count > 0) logRepeated({ count, ids })
      // After a second without faults of a kind, the next one counts as a first again.
      else kinds.delete(kind)
    }
  }

  function flushLater (): void {
    clock.setTimeout(() => {
      flush()
      if (kinds.size > 0) flushLater()
    }, SUMMARY_INTERVAL_MS).unref()
  }

  return { report, flush }
}

/**
 * Opens the output of the log. While it cannot be written (a full disk, a pipe without a reader), the service
 * continues, and lines are buffered up to a limit.
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
  let [isFaulty, isWarned] = [false, false]
  let lost = 0
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
    isFaulty = isWarned = false
    if (lost > 0) onLost(lost)
    lost = 0
  })
  const flushSync = output.flushSync.bind(output)
  output.flushSync = () => {
    exitsBefore = performance.now() + EXIT_FLUSH_TIMEOUT_MS
    output.flush()
    try {
      // After any fault except a slow reader, sonic-boom would retry forever.
      if (!isFaulty) flushSync()
    } catch {
      // The reader is too slow: the last lines are lost.
    }
  }
  return output
}
