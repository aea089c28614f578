import { execFileSync, spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFile } from './project.js'

type Kind = 'write' | 'sync' | 'thread' | 'process' | 'memory'

/** Faults of the system calls of a process that runs with `env`, see `failing-calls.c`. */
export interface FailingCalls { env: Record<string, string>, begin: (kind: Kind) => void, end: (kind: Kind) => void }

/** The option of tests that need it. */
export const withCompiler = { skip: spawnSync('gcc', ['--version']).status !== 0 && 'there is no gcc here: apt-get install gcc libc6-dev' }

/** @param file a part of the path of the files that `write` and `sync` are about */
export function failingCalls (folder: string, file = 'plants.db'): FailingCalls {
  const library = join(folder, 'failing-calls.so')
  const fault = join(folder, 'fault')
  execFileSync('gcc', ['-shared', '-fPIC', '-o', library, projectFile('test/failing-calls.c'), '-ldl'], { stdio: 'pipe' })
  return {
    env: { LD_PRELOAD: library, FAULTY_FILE: file, FAULT_SWITCH: fault },
    begin: kind => writeFileSync(`${fault}.${kind}`, ''),
    end: kind => rmSync(`${fault}.${kind}`)
  }
}
