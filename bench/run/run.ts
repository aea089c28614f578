import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Spec } from '../plan/cases.js'
import type { Options } from '../plan/options.js'
import { page } from '../report/page.js'
import { pictures } from '../report/pictures.js'
import { load, resultsFolder } from '../report/results.js'
import { header, tables, wrapped } from '../report/tables.js'
import { measure } from './measure.js'

/** Measures, or reads a saved run; saves it, and prints its tables. */
export async function run (specs: readonly Spec[], options: Options, words: readonly string[]): Promise<void> {
  // First, so that what cannot be read or written fails before the measurements, not after them.
  const from = options.from === undefined ? undefined : load(options.from)
  const folder = resultsFolder(options.save)
  mkdirSync(folder, { recursive: true })
  const results = from ?? await measure(specs, options, words)
  const drawn = pictures(results)
  const files = { 'results.json': JSON.stringify(results, null, 1), 'page.html': page(results, drawn), ...drawn }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  const more = `All figures, and pictures: ${relative('.', join(folder, 'page.html'))}`
  console.log(wrapped([header(results), tables(results), more].join('\n')).join('\n'))
}
