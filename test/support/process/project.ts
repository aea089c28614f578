import { resolve } from 'node:path'

/** A file of the project. The tests run in its root, and compiled: beside them is nothing but code. */
export const projectFile = (path: string): string => resolve(path)

/**
 * The program, as `npm run compile` compiled it with the tests; `PLANT_STORE_MAIN` names another, for example one that
 * was built.
 */
export const program = process.env.PLANT_STORE_MAIN ?? projectFile('build/src/service/main.js')

/** The folder of the package that was compiled with the tests: in it and below, `plant-store` is found by its name. */
export const compiledPackage = projectFile('build')
