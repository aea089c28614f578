import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { needsProgram } from './needs.js'
import { projectFile } from './program.js'

export type FailingCall = 'write' | 'sync' | 'link' | 'thread'

/** Makes system calls fail in processes that have the variables of `env`; see `failing-calls.c`. */
interface FailingCalls {
  env: Record<string, string>
  begin: (kind: FailingCall) => void
  end: (kind: FailingCall) => void
}

/** The options of tests that need a C compiler. */
export const withCompiler = needsProgram('gcc', 'gcc libc6-dev')

/** @param file part of the paths of the files for which `write` and `sync` fail, or, with a `$` behind it, their end */
export function failingCalls (folder: string, file = 'plants.db'): FailingCalls {
  const fault = join(folder, 'fault')
  const library = preloaded('test/support/process/failing-calls.c', folder)
  return {
    env: { LD_PRELOAD: library, FAULTY_FILE: file, FAULT_SWITCH: fault },
    begin: kind => writeFileSync(`${fault}.${kind}`, ''),
    end: kind => rmSync(`${fault}.${kind}`)
  }
}

/**
 * Compiles a library to preload.
 * @param source its path in the project
 * @returns its path
 */
export function preloaded (source: string, folder: string): string {
  const library = join(folder, `${basename(source, '.c')}.so`)
  execFileSync('gcc', ['-shared', '-fPIC', '-o', library, projectFile(source), '-ldl'], { stdio: 'pipe' })
  return library
}
