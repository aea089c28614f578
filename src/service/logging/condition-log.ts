import { open } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import { codeOf } from '../../error-message.js'

const INTERVAL_MS = 2_000

/**
 * Logs once when readiness is lost and once when it is regained; likewise for file descriptors, without which the
 * kernel closes connections before this process sees them. Returns a function that stops it.
 */
export function logConditions (fault: () => Promise<string | undefined>, log: FastifyBaseLogger): () => void {
  let notReady: string | undefined
  let isExhausted = false

  async function check (): Promise<void> {
    const reason = await fault()
    if (notReady === undefined && reason !== undefined) log.warn(`not ready: ${reason}`)
    if (notReady !== undefined && reason === undefined) log.info('ready again')
    notReady = reason

    const wasExhausted = isExhausted
    isExhausted = await fileDescriptorsAreExhausted()
    if (isExhausted && !wasExhausted) log.error('no file descriptors are left: new connections are closed; raise the limit (ulimit -n, LimitNOFILE)')
    if (wasExhausted && !isExhausted) log.info('file descriptors are available again')
  }

  const timer = setInterval(check, INTERVAL_MS).unref()
  check()
  return () => clearInterval(timer)
}

async function fileDescriptorsAreExhausted (): Promise<boolean> {
  try {
    await (await open('/dev/null')).close()
    return false
  } catch (error) {
    return codeOf(error) === 'EMFILE' || codeOf(error) === 'ENFILE'
  }
}
