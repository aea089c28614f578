import type { FastifyBaseLogger } from 'fastify'
import { systemClock, type Clock, type Timer } from '../../clock.js'

const DAY_MS = 86_400_000
/** As in docs/alerts.yml. */
const NOTICE_DAYS = 14
const HINT = 'replace the files of TLS_CERT_FILE and TLS_KEY_FILE, then send SIGHUP'

/**
 * Logs once that a certificate expires within 14 days, and once that it has expired, at most a day after it is so.
 * Returns a function that stops it. Times are milliseconds since 1970.
 */
export function watchCertificate (
  expiresAt: number, log: FastifyBaseLogger, clock: Clock = systemClock, today: () => number = Date.now
): () => void {
  const expires = new Date(expiresAt).toISOString()
  let timer: Timer
  let isSoon = false

  function check (): void {
    const daysLeft = (expiresAt - today()) / DAY_MS
    if (daysLeft <= 0) {
      log.error({ expires }, `the TLS certificate expired on ${expires}: clients refuse it; ${HINT}`)
      return
    }
    if (daysLeft <= NOTICE_DAYS && !isSoon) log.warn({ expires }, `the TLS certificate expires on ${expires}: ${HINT}`)
    isSoon = daysLeft <= NOTICE_DAYS
    timer = clock.setTimeout(check, DAY_MS)
    timer.unref()
  }

  check()
  return () => timer?.clear()
}
