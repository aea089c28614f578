import { fork, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Command {
  arguments: string[]
  environment?: Record<string, string>
  /** The processors to stay on, as util-linux' taskset takes them. */
  pin?: string | undefined
}

export interface Started {
  pid: number
  /** The first thing in the output that looks like an address. */
  address: string
  stop: () => Promise<void>
}

const running = new Set<ChildProcess>()
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')))

/** Output goes to a file: a pipe would have to be emptied by this process, at the cost of the processor under measurement. */
export async function startProcess (command: Command, logFile: string, address = /https?:\/\/[^\s"',]+/): Promise<Started> {
  const log = openSync(logFile, 'w')
  const [program = '', ...words] = [...taskset(command.pin), process.execPath, ...command.arguments]
  const child = spawn(program, words, {
    env: { ...cleanEnvironment(), ...command.environment },
    // Never written to: it only ends with this process, which the scripted MongoDB takes as its own end.
    stdio: ['pipe', log, log]
  })
  closeSync(log)
  keep(child)
  const deadline = Date.now() + 20_000
  while (Date.now() < deadline && child.exitCode === null && child.signalCode === null) {
    const found = address.exec(readFileSync(logFile, 'utf8'))
    if (found !== null && child.pid !== undefined) {
      return { pid: child.pid, address: found[0].replace(/[/.,;]+$/, ''), stop: async () => { await stop(child) } }
    }
    await sleep(5)
  }
  await stop(child)
  throw new Error(`${command.arguments.join(' ')} did not start: ${readFileSync(logFile, 'utf8').slice(-1500)}`)
}

/** As startProcess, with a channel for messages instead of an address. */
export function forkModule (module: URL, pin?: string, words: string[] = []): { child: ChildProcess, stop: () => Promise<void> } {
  const [execPath = '', ...execArgv] = [...taskset(pin), process.execPath, '--import=tsx']
  const child = fork(module, words, { execPath, execArgv, env: cleanEnvironment() })
  keep(child)
  return { child, stop: async () => { await stop(child) } }
}

function keep (child: ChildProcess): void {
  running.add(child)
  child.on('exit', () => running.delete(child))
  child.on('error', () => running.delete(child))
}

async function stop (child: ChildProcess): Promise<void> {
  if (!running.has(child)) return
  const gone = new Promise<void>((resolve) => { child.once('exit', () => resolve()) })
  child.kill('SIGTERM')
  const kill = setTimeout(() => child.kill('SIGKILL'), 5000)
  await gone
  clearTimeout(kill)
}

function taskset (processors: string | undefined): string[] {
  return processors === undefined ? [] : ['taskset', '-c', processors]
}

/** The service's own settings in the caller's environment, or a coverage run's loaders, must not leak into what is measured. */
function cleanEnvironment (): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'LD_LIBRARY_PATH', 'UV_THREADPOOL_SIZE']
  return Object.fromEntries(names.flatMap((name) => process.env[name] === undefined ? [] : [[name, process.env[name] as string]]))
}
