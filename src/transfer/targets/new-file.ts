import { randomBytes } from 'node:crypto'
import { link, lstat, open, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf } from '../../error-message.js'
import { unwritable } from '../transfer-fault.js'

/**
 * Creates a file that is either complete and on disk under its name, or absent. It is written under a temporary name in
 * the same folder, and never replaces a file.
 * @param write gets an empty file to write to, and `publish`, which syncs it to disk and gives it its name
 * @param mode the file's permissions, less those of the umask
 * @returns what `write` returns
 * @throws {TransferFault} if the name is taken, now or when `publish` is called, or if the file cannot be written
 */
export async function withNewFile<Result> (
  path: string, write: (partialPath: string, publish: () => Promise<void>) => Promise<Result>, mode = 0o666
): Promise<Result> {
  const folder = dirname(resolve(path))
  const partialPath = join(folder, `.${basename(path)}.${randomBytes(4).toString('hex')}.partial`)
  const orFault = (error: unknown): never => { throw unwritable(path, error) }

  async function publish (): Promise<void> {
    await sync(partialPath, 'r+')
    await giveName(partialPath, path)
    // Windows cannot sync a folder to disk.
    if (process.platform !== 'win32') await sync(folder, 'r')
  }

  await requireAbsence(path).then(async () => writeFile(partialPath, '', { flag: 'wx', mode })).catch(orFault)
  try {
    return await write(partialPath, async () => publish().catch(orFault))
  } finally {
    await rm(partialPath, { force: true })
  }
}

/** A rename would replace a file that another process has created since; a link does not. */
async function giveName (partialPath: string, path: string): Promise<void> {
  try {
    await link(partialPath, path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error
    // FAT and some network file systems have no hard links.
    await requireAbsence(path)
    await rename(partialPath, path)
  }
}

async function requireAbsence (path: string): Promise<void> {
  const isThere = await lstat(path).then(() => true, (error: unknown) => {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  })
  if (isThere) throw Object.assign(new Error(), { code: 'EEXIST' })
}

async function sync (path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
