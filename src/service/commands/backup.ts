import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { ConfigurationError, readStoreLocation } from '../configuration/configuration.js'
import { databaseFile } from '../configured-store.js'
import type { Command, Surroundings } from './command-line.js'
import { createFile } from './new-file.js'
import { CopyError } from './sources/plant-source.js'

const program = fileURLToPath(new URL('./backup-process.js', import.meta.url))

/**
 * `plant-store backup`: copies a snapshot of the database file, while a service keeps using it. The copy is complete
 * and on disk, readable by no one who cannot read the database, or absent. Returns the exit code.
 */
export async function backup ({ file, quiet }: Command, { env, stderr, interruption }: Surroundings): Promise<number> {
  const { DATA_DIR, MONGODB_URL } = readStoreLocation(env)
  if (MONGODB_URL !== undefined) throw new ConfigurationError('MONGODB_URL is set: back up MongoDB with its own tools, such as mongodump')
  const path = databaseFile(DATA_DIR)
  // If there is no such file, the process that copies says so.
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600
  await createFile(file, partialPath => copyInOtherProcess(path, partialPath, interruption), mode & 0o777)
  if (stderr.isTTY && !quiet) stderr.write(`backup: wrote ${file}, ${statSync(file).size.toLocaleString('en')} bytes\n`)
  return 0
}

async function copyInOtherProcess (path: string, copy: string, interruption: AbortSignal): Promise<void> {
  interruption.throwIfAborted()
  // Detached: the signals of a terminal and of a shell reach only this process.
  const child = spawn(process.execPath, [program, path, copy], { detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  // Unlike the option `signal`, this waits until the process has ended: what it writes can be removed then.
  interruption.addEventListener('abort', () => child.kill('SIGKILL'))
  const [fault, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')])
  interruption.throwIfAborted()
  if (code !== 0) throw new CopyError(fault || `the process that copies was ended by ${signal}`)
}
