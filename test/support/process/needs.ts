import { spawnSync } from 'node:child_process'

/**
 * The options of tests that need what a machine may lack. If it is missing, they are skipped and say so; with
 * REQUIRE_ALL=1, as in CI, they run, and fail.
 * @param missing what is missing, and how to get it; undefined if it is there
 */
export function needs (missing: string | undefined): { skip: string | false } {
  return { skip: missing !== undefined && process.env.REQUIRE_ALL !== '1' && missing }
}

/** As `needs`, for a program on the PATH. */
export function needsProgram (program: string, packages = program): { skip: string | false } {
  return needs(spawnSync(program, ['--version']).error && `${program} is missing: apt-get install ${packages}`)
}
