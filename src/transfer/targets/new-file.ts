import { randomBytes } from 'node:crypto'
import { link, lstat, open, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf } from '../../error-message.js'
import { TransferFault, unwritable } from '../transfer-fault.js'

/**
 * Creates a file that is either complete and on disk under its name, or absent. It is written under a temporary name in
 * the same folder, and never replaces a file.
 * @param write writes to an empty file
 * @param mode the file's permissions, less those of the umask
 * @throws {TransferFault} if the name is taken, or if the file cannot be written
 */
export async function createFile (
  path: string, write: (partialPath: string) => Promise<void>, mode = 0o666
): Promise<void> {
  const folder = dirname(resolve(path))
  const partialPath = join(folder, `.${basename(path)}.${randomBytes(4).toString('hex')}.partial`)
  const rethrow = (error: unknown): never => { throw unwritable(path, error) }
  await writeFile(partialPath, '', { flag: 'wx', mode }).catch(rethrow)
  try {
    await write(partialPath)
    await sync(partialPath, 'r+')
    await giveName(partialPath, path)
    await sync(folder, 'r')
  } catch (error) {
    rethrow(error)
  } finally {
    await rm(partialPath, { force: true })
  }
}

/** Checks a name before a long copy; throws a TransferFault if it is taken. */
export async function requireAbsence (path: string): Promise<void> {
  // Other faults show when the file is written.
  const found = await lstat(path).catch(() => undefined)
  if (found !== undefined) throw new TransferFault(`${path} already exists, and was not changed: choose another name`)
}

/** A rename would replace a file that another process has created since; a link does not. */
async function giveName (partialPath: string, path: string): Promise<void> {
  await requireAbsence(path)
  try {
    await link(partialPath, path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error
    // FAT and some network file systems have no hard links.
    await rename(partialPath, path)
  }
}

async function sync (path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
