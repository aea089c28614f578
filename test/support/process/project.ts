import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

/** The path of a file of the project. Tests run in the project's root, as `build` has only their compiled code. */
export const projectFile = (path: string): string => resolve(path)

/**
 * The program compiled with the tests by `npm run compile`. `PLANT_STORE_MAIN` names another one, for example the one
 * built by `npm run build`.
 */
export const program = process.env.PLANT_STORE_MAIN ?? projectFile('build/src/service/main.js')

/** The package compiled with the tests: code in this folder can import `plant-store` by its name. */
export const compiledPackage = projectFile('build')

/** The only code block of the documentation that contains a text or, if there is none, the only inline code. */
export function documented (text: string, ...pages: string[]): string {
  return execFileSync(projectFile('.ci/documented'), [text, ...pages], { encoding: 'utf8' })
}
