import { execFileSync } from 'node:child_process'
import { projectFile } from './process/project.js'

/** The only code block of a page that contains a text or, if there is none, the only inline code. */
export function documented (page: string, text: string): string {
  return execFileSync(projectFile('.ci/documented'), [page, text], { encoding: 'utf8' })
}
