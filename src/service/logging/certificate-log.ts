import type { FastifyBaseLogger } from 'fastify'
import { systemClock, type Clock, type Timer } from '../../clock.js'

const DAY_MS = 86_400_000
/** As in docs/alerts.yml. */
const NOTICE_DAYS = 14
const HINT = 'replace the files of TLS_CERT_FILE and TLS_KEY_FILE, then send SIGHUP'

/**
 * Logs once that a certificate expires within 14 days, and once that it has expired, each at most a day late. Returns a
 * function that sets the certificate. Times are milliseconds since 1970.
 */
export function certificateLog (log: FastifyBaseLogger, clock: Clock = systemClock, today: () => number = Date.now) {
  let timer: Timer | undefined

  function check (expiresAt: number, wasSoon = false): void {
    const expires = new Date(expiresAt).toISOString()
    const daysLeft = (expiresAt - today()) / DAY_MS
    if (daysLeft <= 0) {
      log.error({ expires }, `the TLS certificate expired on ${expires}: clients refuse it; ${HINT}`)
      return
    }
    const isSoon = daysLeft <= NOTICE_DAYS
    if (isSoon && !wasSoon) log.warn({ expires }, `the TLS certificate expires on ${expires}: ${HINT}`)
    timer = clock.setTimeout(() => { check(expiresAt, isSoon) }, DAY_MS)
    timer.unref()
  }

  return (certificate: { expiresAt: number } | undefined): void => {
    timer?.clear()
    if (certificate !== undefined) check(certificate.expiresAt)
  }
}
