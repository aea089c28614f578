import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ConfigurationError, readStoreLocation } from '../config/configuration.js'
import { databaseFile, describeStore } from '../config/configured-store.js'
import { createFile, requireAbsence } from './new-file.js'
import { showProgress } from './progress.js'
import { interruption } from './copy.js'
import { CopyError } from './sources/plant-source.js'
import { openPlantsFile } from './sources/sqlite-source.js'

/**
 * `plant-store backup`: copies a snapshot of the database file, while a service keeps using it. The copy is complete
 * and on disk, or absent. Returns the exit code.
 */
export async function backup (
  env: NodeJS.ProcessEnv, { file, quiet }: { file: string, quiet: boolean }
): Promise<number> {
  const { DATA_DIR, MONGODB_URL } = readStoreLocation(env)
  if (MONGODB_URL !== undefined) throw new ConfigurationError('MONGODB_URL is set: back up MongoDB with its own tools, such as mongodump')
  const database = databaseFile(DATA_DIR)
  // Checks that the file is one of this package's.
  ;(await openPlantsFile(database)).database.close()
  await requireAbsence(file)
  const signal = interruption()
  await createFile(file, async partialPath => {
    const progress = showProgress(process.stderr, 'backup', quiet, () => {
      const megabytes = (statSync(partialPath).size / 1e6).toLocaleString('en', { maximumSignificantDigits: 3 })
      return `${megabytes} MB`
    })
    if (!quiet) progress.line(`from ${describeStore({ DATA_DIR })}\nto   ${file}`)
    try {
      await vacuum(database, partialPath, signal)
    } finally {
      progress.end()
      // SQLite leaves its journal behind if it fails or is killed.
      await rm(`${partialPath}-journal`, { force: true })
    }
  }, statSync(database).mode & 0o777)
  return 0
}

/** Runs in a process of its own, since SQLite blocks the event loop; an interruption kills it. */
async function vacuum (database: string, copy: string, signal: AbortSignal): Promise<void> {
  const program = fileURLToPath(new URL('./backup-process.js', import.meta.url))
  await new Promise<void>((resolve, reject) => {
    execFile(process.execPath, [program, database, copy], { signal, killSignal: 'SIGKILL' }, (error, _stdout, stderr) => {
      if (error === null) resolve()
      else reject(new CopyError(signal.aborted ? 'interrupted: nothing is kept' : `the copy failed: ${stderr || error.message}`))
    })
  })
}
