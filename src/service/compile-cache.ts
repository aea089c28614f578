import { existsSync, lstatSync, mkdirSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Node 22.8 and later have it. */
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => object }

/**
 * Makes Node keep the code that it compiles, so that the next start takes less time. The folder is one that nobody else
 * can write to, as code that is found there runs. Without such a folder, as in a read-only container, nothing is kept.
 * Node's own variables, NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE, have precedence.
 */
export function useCompileCache (): void {
  const user = process.getuid?.()
  if (enableCompileCache === undefined || user === undefined) return
  const folder = join(tmpdir(), `plant-store-${user}`)
  try {
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
    const { uid, mode } = lstatSync(folder)
    const isPrivate = uid === user && (mode & 0o777) === 0o700
    if (isPrivate) enableCompileCache(folder)
  } catch {
    // The next start takes as long as this one.
  }
}
