import { readdirSync } from 'node:fs'

/**
 * Runs all tests of a folder beside this file's in one process, one after the other: a process of its own would cost
 * each file more than half a second of processor time, which most of them need for nothing else.
 */
export async function runFolder (folder: string): Promise<void> {
  const place = new URL(`../${folder}/`, import.meta.url)
  const files = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.test.js'))
  await Promise.all(files.sort().map(file => import(new URL(file, place).href)))
}
