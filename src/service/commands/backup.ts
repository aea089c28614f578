import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { ConfigurationError, readStoreLocation } from '../configuration/configuration.js'
import { databaseFile } from '../configuration/configured-store.js'
import type { Command, Surroundings } from './command-line.js'
import { createFile } from './new-file.js'
import { CopyError } from './sources/plant-source.js'

const program = fileURLToPath(new URL('./backup-process.js', import.meta.url))

/**
 * `plant-store backup`: copies a snapshot of the database file, while a service keeps using it. The copy is complete
 * and on disk, readable by no one who cannot read the database, or absent. Returns the exit code.
 */
export async function backup ({ file }: Command, { env, interruption }: Surroundings): Promise<number> {
  const { DATA_DIR, MONGODB_URL } = readStoreLocation(env)
  if (MONGODB_URL !== undefined) throw new ConfigurationError('MONGODB_URL is set: back up MongoDB with its own tools, such as mongodump')
  const path = databaseFile(DATA_DIR)
  // If there is no such file, the process that copies says so.
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600
  await createFile(file, partialPath => copyInOtherProcess(path, partialPath, interruption), mode & 0o777)
  return 0
}

async function copyInOtherProcess (path: string, copy: string, interruption: AbortSignal): Promise<void> {
  interruption.throwIfAborted()
  // Detached from the terminal, whose signals only this process gets. Its standard input ends when this process does.
  const copying = spawn(process.execPath, [program, path, copy], { detached: true, stdio: ['pipe', 'ignore', 'pipe'] })
  interruption.addEventListener('abort', () => copying.kill('SIGKILL'))
  const [fault, [code, signal]] = await Promise.all([text(copying.stderr), once(copying, 'close')])
  interruption.throwIfAborted()
  if (code !== 0) throw new CopyError(fault || `the process that copies was ended by ${signal}`)
}
