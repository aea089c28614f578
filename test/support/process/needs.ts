import { spawnSync } from 'node:child_process'

/**
 * The options of tests that need something a machine may lack. If it is missing, the tests are skipped with a reason;
 * with TAP_FAIL_SKIP=1, as in CI, they fail.
 * @param missing what is missing and how to install it; undefined if nothing is
 */
export function needs (missing: string | undefined): { skip: string | false } {
  return { skip: missing ?? false }
}

/** Like `needs`, for a program on the PATH. */
export function needsProgram (program: string, packages = program): { skip: string | false } {
  return needs(spawnSync(program, ['--version']).error && `${program} is missing: apt-get install ${packages}`)
}
