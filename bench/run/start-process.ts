import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

interface Start {
  node?: string
  words?: string[]
  environment?: Record<string, string>
  logFile: string // reading from a pipe would take processor time from the measurement
}

const running = new Set<ChildProcess>()
process.on('exit', () => { for (const child of running) child.kill('SIGKILL') })

/** What a process runs: a module of Node, or another program. */
type Program = URL | string

/** Starts a separate process, which is killed if this one exits. */
function launch (program: Program, { node = process.execPath, words = [], environment, logFile }: Start) {
  const log = openSync(logFile, 'w')
  // Without settings of the service in the caller's environment, and the loaders of a coverage run.
  const { PATH, HOME, TMPDIR, LANG } = process.env
  // The scripted MongoDB exits when its standard input closes, even if this process is killed.
  const [file, ...first] = program instanceof URL ? [node, fileURLToPath(program)] : [program]
  const child = spawn(file, [...first, ...words], {
    env: { PATH, HOME, TMPDIR, LANG, ...environment },
    stdio: ['pipe', log, log]
  })
  closeSync(log)
  running.add(child)
  return { child, exited: once(child, 'exit').finally(() => running.delete(child)) }
}

/** Runs a separate process until it ends, and returns what it has printed. */
export async function runToEnd (program: Program, start: Start): Promise<string> {
  const { child, exited } = launch(program, start)
  await exited
  const output = readFileSync(start.logFile, 'utf8')
  if (child.exitCode !== 0) throw new Error(`${String(program)} failed: ${output.slice(-1500)}`)
  return output
}

/** Starts a separate process, and waits until it has printed its address. */
export async function startProcess (program: Program, start: Start) {
  const startedAt = performance.now()
  const { child, exited } = launch(program, start)
  const stop = async (): Promise<void> => {
    child.kill()
    const kill = setTimeout(() => child.kill('SIGKILL'), 5000)
    await exited
    clearTimeout(kill)
  }
  for (const giveUpAt = Date.now() + 20_000; Date.now() < giveUpAt && child.exitCode === null; await sleep(1)) {
    const output = readFileSync(start.logFile, 'utf8')
    const address = /(?:https?|mongodb):\/\/[^\s"',]+/.exec(output)?.[0].replace(/[/.]+$/, '')
    const startedIn = performance.now() - startedAt // ms
    if (address !== undefined) return { pid: child.pid, address, output, startedIn, stop }
  }
  await stop()
  throw new Error(`${String(program)} did not start: ${readFileSync(start.logFile, 'utf8').slice(-1500)}`)
}
