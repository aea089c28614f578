import { resolve } from 'node:path'

/** A file of the project: the tests run in its root. Their compiled code in `build` has no other files beside it. */
export const projectFile = (path: string): string => resolve(path)

/**
 * The program that `npm run compile` compiled with the tests; `PLANT_STORE_MAIN` names another one, for example that of
 * `npm run build`.
 */
export const program = process.env.PLANT_STORE_MAIN ?? projectFile('build/src/service/main.js')

/** The package that was compiled with the tests: code in this folder can import `plant-store` by its name. */
export const compiledPackage = projectFile('build')
