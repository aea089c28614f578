import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { link, lstat, open, readdir, rename, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf } from '../../error-message.js'
import { CopyError } from '../sources/plant-source.js'

/**
 * Creates a file that is either complete and on disk under its name, or absent. It is written under a temporary name in
 * the same folder, and never replaces a file. What a killed process left there for the same name is removed.
 * @param write writes to an empty file
 * @param mode the file's permissions, less those of the umask
 * @throws {CopyError} if the name is taken, or its folder does not exist
 */
export async function createFile (path: string, write: (partialPath: string) => Promise<void>, mode = 0o666) {
  const folder = dirname(resolve(path))
  await requireFolder(folder, path)
  // Before a long copy, too.
  await requireAbsence(path)
  await removeAbandoned(folder, basename(path))
  const partialPath = join(folder, `.${basename(path)}.${process.pid}-${randomBytes(4).toString('hex')}.partial`)
  const removePartial = () => {
    remove(partialPath)
    // SQLite leaves it behind if it fails or is killed.
    remove(`${partialPath}-journal`)
  }
  // A second signal does not wait for the end of the copy.
  process.on('exit', removePartial)
  try {
    await writeFile(partialPath, '', { flag: 'wx', mode })
    await write(partialPath)
    await sync(partialPath, 'r+')
    // Unlike a rename, a link replaces no file. FAT and some network file systems have no hard links.
    await link(partialPath, path).catch(async () => {
      await requireAbsence(path)
      await rename(partialPath, path)
    })
    await sync(folder, 'r')
  } catch (error) {
    // Named as the user named it.
    if (error instanceof Error) error.message = error.message.replaceAll(partialPath, path)
    throw error
  } finally {
    process.off('exit', removePartial)
    removePartial()
  }
}

async function requireFolder (folder: string, path: string): Promise<void> {
  const fault = await stat(folder).catch(codeOf)
  if (fault === 'ENOENT') throw new CopyError(`there is no folder ${dirname(path)}: create it, or choose another name`)
}

async function requireAbsence (path: string): Promise<void> {
  // Other faults show when the file is written.
  const found = await lstat(path).catch(() => undefined)
  if (found !== undefined) throw new CopyError(`${path} already exists, and was not changed: choose another name`)
}

/** Removes the partial files of a name whose processes do not run any more. */
async function removeAbandoned (folder: string, name: string): Promise<void> {
  const start = `.${name}.`
  // A folder may be writable, but not readable.
  for (const file of await readdir(folder).catch(() => [])) {
    const rest = file.startsWith(start) ? file.slice(start.length) : ''
    const pid = /^(\d+)-[0-9a-f]{8}\.partial(-journal)?$/.exec(rest)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) remove(join(folder, file))
  }
}

function remove (path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It may be another user's.
  }
}

function isRunning (pid: number): boolean {
  // In a container, each process may have the same number.
  if (pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

async function sync (path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  await handle.sync().finally(() => handle.close())
}
