import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { needs } from './needs.js'

/** The options of tests that need a small disk. */
export const withSmallDisk = needs(fault())

/**
 * Mounts a file system of a given size on a folder until the end of the test.
 * @param size in the form of mount(8), for example `3m`
 * @returns a function that changes the size
 */
export function mountSmallDisk (t: Test, folder: string, size: string): (size: string) => void {
  asRoot('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder)
  t.teardown(() => asRoot('umount', '-l', folder))
  return size => asRoot('mount', '-o', `remount,size=${size}`, folder)
}

/** Mounts a file over an empty one until the end of the test, as a container does with a volume. */
export function mountFile (t: Test, file: string, over: string): void {
  asRoot('mount', '--bind', file, over)
  t.teardown(() => asRoot('umount', '-l', over))
}

function asRoot (program: string, ...args: string[]): void {
  const command = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const [first = '', ...rest] = [...command, program, ...args]
  execFileSync(first, rest, { stdio: 'pipe' })
}

function fault (): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-mount-'))
  try {
    asRoot('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder)
    asRoot('umount', folder)
    return undefined
  } catch (error) {
    return `no small file system can be mounted: ${String(error).trim().split('\n').at(-1)}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}
