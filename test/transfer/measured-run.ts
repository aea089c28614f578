import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { program } from '../support/process/project.js'

/** The time and memory that a run of the program took. */
export interface MeasuredRun {
  /** Milliseconds from the start of the process to its exit. */
  ms: number
  /** The highest resident memory of the process in MB, for each fifth of the run. */
  megabytes: number[]
  stdout: string
}

/** Runs the program until it exits; Linux only, because of its memory. Throws if the exit code is not 0. */
export async function measuredRun (args: readonly string[], env: Record<string, string>): Promise<MeasuredRun> {
  const started = performance.now()
  const child = spawn(process.execPath, [program, ...args], { env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  child.stdout.setEncoding('utf8').on('data', (text: string) => { stdout += text })
  const resident: number[] = []
  const sampling = setInterval(() => {
    try {
      const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]
      if (kilobytes !== undefined) resident.push(Number(kilobytes) * 1_024 / 1e6)
    } catch {
      // The process has exited.
    }
  }, 20)
  const [code] = await once(child, 'close')
  clearInterval(sampling)
  const ms = performance.now() - started
  if (code !== 0) throw new Error(`exit code ${code}: ${stdout}${stderr}`)
  const fifth = Math.ceil(resident.length / 5)
  const megabytes = [0, 1, 2, 3, 4].map(i => Math.round(Math.max(0, ...resident.slice(i * fifth, (i + 1) * fifth))))
  return { ms, megabytes, stdout }
}
