import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { ConfigurationError, readConfiguration, type Configuration } from '../config/configuration.js'

/**
 * Shuts down on SIGTERM, on SIGINT and after an uncaught error. A second signal, or a shutdown that takes too long,
 * exits at once.
 * @param timeout milliseconds until the exit is forced
 * @returns a function that shuts down likewise
 */
export function shutDownOnSignal (timeout: number, log: Logger, shutdown: () => Promise<void>): () => void {
  const { close } = closeWithGrace({
    delay: timeout,
    logger: log,
    // They end the process as the system does: after a fault in native code, a handler would be called forever.
    skip: ['SIGHUP', 'SIGQUIT', 'SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGUSR2'],
    onTimeout: delay => { log.error(`forced exit after ${delay} ms with requests pending`) }
  }, async ({ signal, err, manual }) => {
    if (err) log.fatal({ err }, 'shutting down after an uncaught error')
    else log.info(`${signal ?? (manual ? 'SIGHUP' : 'no more work')}: finishing pending requests, then exiting`)
    await shutdown()
    log.info('stopped')
  })
  return close
}

/** Reads the files of the access tokens and of the certificate again on SIGHUP; invalid ones change nothing. */
export function reloadOnHangup (log: Logger, reload: (configuration: Configuration) => void): void {
  process.on('SIGHUP', () => {
    try {
      // The URL is not read again: its file may be a pipe.
      const configuration = readConfiguration({ ...process.env, MONGODB_URL: undefined, MONGODB_URL_FILE: undefined })
      reload(configuration)
      log.info({ tokens: configuration.ACCESS_TOKENS?.length ?? 1 }, 'SIGHUP: access tokens and certificate reloaded')
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      log.error(`SIGHUP: nothing changed: ${error.message}`)
    }
  })
}
