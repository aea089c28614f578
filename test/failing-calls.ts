import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFile } from './project.js'

type Kind = 'write' | 'sync' | 'thread' | 'process' | 'memory'

/** Faults of the system calls of a process that runs with `env`, see `failing-calls.c`. */
export interface FailingCalls { env: Record<string, string>, begin: (kind: Kind) => void, end: (kind: Kind) => void }

/**
 * @param file a part of the path of the files that `write` and `sync` are about
 * @returns undefined where there is no compiler
 */
export function failingCalls (folder: string, file = 'plants.db'): FailingCalls | undefined {
  const library = join(folder, 'failing-calls.so')
  const fault = join(folder, 'fault')
  try {
    execFileSync('gcc', ['-shared', '-fPIC', '-o', library, projectFile('test/failing-calls.c'), '-ldl'], { stdio: 'pipe' })
  } catch {
    return undefined
  }
  return {
    env: { LD_PRELOAD: library, FAULTY_FILE: file, FAULT_SWITCH: fault },
    begin: kind => writeFileSync(`${fault}.${kind}`, ''),
    end: kind => rmSync(`${fault}.${kind}`)
  }
}
