import { createRequire } from 'node:module'

/** Of this package, for `--version`, the first screen and OpenAPI. */
export const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }
