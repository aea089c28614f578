import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { messageOf } from '../error-message.js'
import { ConfigurationError, readStoreLocation } from '../config/configuration.js'
import { databaseFile, describeStore } from '../config/configured-store.js'
import type { Command } from './command-line.js'
import { createFile } from './new-file.js'
import { CopyError } from './sources/plant-source.js'
import { interruption, showProgress } from './terminal.js'

const program = fileURLToPath(new URL('./backup-process.js', import.meta.url))

/**
 * `plant-store backup`: copies a snapshot of the database file, while a service keeps using it. The copy is complete
 * and on disk, or absent. Returns the exit code.
 */
export async function backup (env: NodeJS.ProcessEnv, { file, quiet }: Pick<Command, 'file' | 'quiet'>): Promise<number> {
  const { DATA_DIR, MONGODB_URL } = readStoreLocation(env)
  if (MONGODB_URL !== undefined) throw new ConfigurationError('MONGODB_URL is set: back up MongoDB with its own tools, such as mongodump')
  const path = databaseFile(DATA_DIR)
  const task = { name: 'backup', from: describeStore({ DATA_DIR }), to: file, quiet } as const
  const signal = interruption()
  await createFile(file, async partialPath => {
    const progress = showProgress(task, () => `${Math.round(statSync(partialPath).size / 1e6).toLocaleString('en')} MB`)
    try {
      await promisify(execFile)(process.execPath, [program, path, partialPath], { signal })
    } catch (error) {
      signal.throwIfAborted()
      throw new CopyError((error as { stderr?: string }).stderr || messageOf(error))
    } finally {
      progress.end()
      // SQLite leaves its journal behind if it fails or is killed.
      await rm(`${partialPath}-journal`, { force: true })
    }
  }, (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777)
  return 0
}
