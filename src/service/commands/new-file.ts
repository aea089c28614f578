import { randomBytes } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { link, lstat, open, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { CopyError } from './sources/plant-source.js'

/**
 * Creates a file that is either complete and on disk under its name, or absent. It is written under a temporary name in
 * the same folder, and never replaces a file.
 * @param mode the file's permissions, less those of the umask
 * @throws {CopyError} if the name is taken
 */
export async function createFile (path: string, write: (partialPath: string) => Promise<void>, mode = 0o666) {
  if (path.endsWith('/')) throw new CopyError(`${path} is the name of a folder: choose that of a file`)
  const folder = dirname(resolve(path))
  // A name has 255 bytes at most, of which a character takes up to 4.
  const partialPath = join(folder, `.${basename(path).slice(0, 50)}.${randomBytes(4).toString('hex')}.partial`)
  const removePartial = () => {
    // SQLite leaves a journal behind if it fails or is killed.
    for (const file of [partialPath, `${partialPath}-journal`]) if (existsSync(file)) rmSync(file)
  }
  // A second signal does not wait for the end of the copy.
  process.on('exit', removePartial)
  try {
    // Before a long copy, too.
    await requireAbsence(path)
    await writeFile(partialPath, '', { flag: 'wx', mode })
    await write(partialPath)
    await sync(partialPath, 'r+')
    // Unlike a rename, a link replaces no file. FAT and some network file systems have no hard links.
    await link(partialPath, path).catch(async () => {
      await requireAbsence(path)
      await rename(partialPath, path)
    })
    await sync(folder, 'r').catch(fault => {
      rmSync(path)
      throw fault
    })
  } catch (error) {
    // Named as the user named it.
    if (error instanceof Error) error.message = error.message.replaceAll(partialPath, path)
    throw error
  } finally {
    process.off('exit', removePartial)
    removePartial()
  }
}

async function requireAbsence (path: string): Promise<void> {
  // Other faults show when the file is written.
  const found = await lstat(path).catch(() => undefined)
  if (found !== undefined) throw new CopyError(`${path} already exists, and was not changed: choose another name`)
}

async function sync (path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  await handle.sync().finally(() => handle.close())
}
