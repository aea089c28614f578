import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { ConfigurationError, readStoreLocation } from '../config/configuration.js'
import { databaseFile, describeStore } from '../config/configured-store.js'
import type { Command, Surroundings } from './command-line.js'
import { showProgress } from './progress.js'
import { CopyError } from './sources/plant-source.js'
import { createFile } from './targets/new-file.js'

const program = fileURLToPath(new URL('./backup-process.js', import.meta.url))

/**
 * `plant-store backup`: copies a snapshot of the database file, while a service keeps using it. The copy is complete
 * and on disk, or absent. Returns the exit code.
 */
export async function backup ({ file, quiet }: Command, surroundings: Surroundings): Promise<number> {
  const { DATA_DIR, MONGODB_URL } = readStoreLocation(surroundings.env)
  if (MONGODB_URL !== undefined) throw new ConfigurationError('MONGODB_URL is set: back up MongoDB with its own tools, such as mongodump')
  const { interruption, stderr } = surroundings
  const path = databaseFile(DATA_DIR)
  const task = { name: 'backup', from: describeStore({ DATA_DIR }), to: file, quiet } as const
  await createFile(file, async partialPath => {
    const progress = showProgress(task, stderr, () => `${Math.round(sizeOf(partialPath) / 1e6).toLocaleString('en')} MB`)
    try {
      await copyInOtherProcess(path, partialPath, interruption)
    } finally {
      progress.end()
    }
  }, permissionsOf(path))
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

function sizeOf (path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** The permissions of a file; of one that does not exist, those of private files. */
function permissionsOf (path: string): number {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600
  return mode & 0o777
}
