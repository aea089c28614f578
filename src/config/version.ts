import { createRequire } from 'node:module'

/** The version of this package, for `--version`, the first screen and OpenAPI. */
export const { version }: { version: string } = createRequire(import.meta.url)('../../package.json')
