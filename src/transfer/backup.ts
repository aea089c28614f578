import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../error-message.js'
import { ConfigurationError, readStorePlace } from '../service/config/configuration.js'
import { databaseFile, describeStore } from '../service/create-store.js'
import { showProgress, type ProgressState } from './progress.js'
import { interruption } from './run-copy.js'
import { openSqliteFile } from './sources/sqlite-source.js'
import { withNewFile } from './targets/new-file.js'
import { TransferFault } from './transfer-fault.js'

const PROGRESS_INTERVAL_MS = 100

/**
 * `plant-store backup`: copies a snapshot of the database file, while a service keeps using it. The copy is complete
 * and on disk, or absent. Returns the exit code.
 */
export async function backup (
  env: NodeJS.ProcessEnv, { file, quiet }: { file: string, quiet: boolean }
): Promise<number> {
  const { DATA_DIR, MONGODB_URL } = readStorePlace(env)
  if (MONGODB_URL !== undefined) throw new ConfigurationError('MONGODB_URL is set: back up MongoDB with its own tools, such as mongodump')
  const signal = interruption()
  const database = databaseFile(DATA_DIR)
  // Checks that the file is one of this package's.
  const source = await openSqliteFile(database)
  await source.close()

  return withNewFile(file, async (partialPath, publish) => {
    const progress = showProgress(process.stderr, 'backup', { quiet })
    if (!quiet) progress.line(`from ${describeStore({ DATA_DIR })}\nto   ${file}`)
    const state = (): ProgressState => {
      const written = statSync(partialPath, { throwIfNoEntry: false })?.size ?? 0
      const megabytes = (written / 1e6).toLocaleString('en', { maximumSignificantDigits: 3 })
      return { part: Math.min(written / source.bytes, 1), done: `${megabytes} MB` }
    }
    const timer = setInterval(() => progress.update(state), PROGRESS_INTERVAL_MS)
    try {
      await vacuum(database, partialPath, signal)
    } finally {
      clearInterval(timer)
      progress.clear()
      // SQLite leaves its journal behind if it fails or is killed.
      await rm(`${partialPath}-journal`, { force: true })
    }
    if (signal.aborted) {
      progress.line('not finished: interrupted: nothing is kept')
      return 1
    }
    const { done } = state()
    await publish()
    progress.end({ part: 1, done })
    return 0
  }, statSync(database).mode & 0o777)
}

async function vacuum (database: string, copy: string, signal: AbortSignal): Promise<void> {
  const program = fileURLToPath(new URL('./backup-process.js', import.meta.url))
  const child = spawn(process.execPath, [program, database, copy], { stdio: ['ignore', 'ignore', 'pipe'] })
  const stop = (): void => { child.kill('SIGKILL') }
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  let message = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => { message += text })
  const [code] = await once(child, 'close').catch((error: unknown) => {
    throw new TransferFault(`the process that copies could not be started: ${messageOf(error)}`, { temporary: true })
  })
  if (code !== 0 && !signal.aborted) throw new TransferFault(`the copy failed: ${message || 'its process was killed'}`)
}
