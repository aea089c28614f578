import { execFileSync } from 'node:child_process'
import { projectFile } from './process/project.js'

/** The one block of code of a page that holds a text, or the one inline code if no block does. */
export function documented (page: string, text: string): string {
  return execFileSync(projectFile('.ci/documented'), [page, text], { encoding: 'utf8' })
}
