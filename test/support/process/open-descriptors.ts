import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { needs } from './needs.js'

const FOLDER = '/proc/self/fd'

/** For a test that calls `openDescriptors`. */
export const withDescriptors = needs(existsSync(FOLDER) ? undefined : '/proc is missing')

/** The file descriptors with which this process has a file open whose path ends so. */
export function openDescriptors (path: string): string[] {
  return readdirSync(FOLDER).filter(descriptor => {
    try {
      return readlinkSync(`${FOLDER}/${descriptor}`).endsWith(path)
    } catch {
      // It was closed since, like the one with which the folder was read.
      return false
    }
  })
}
