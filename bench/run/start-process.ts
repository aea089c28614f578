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
process.on('exit', () => {
  const pids = [...running].flatMap(({ pid }) => pid ?? [])
  for (const pid of pids) try { process.kill(pid, 'SIGKILL') } catch {}
})

/** Starts a module in a separate process, and waits until it has printed its address. */
export async function startProcess (module: URL, { node, words = [], environment = {}, logFile }: Start) {
  const log = openSync(logFile, 'w')
  // The scripted MongoDB exits when its standard input closes, even if this process is killed.
  const child = spawn(node ?? process.execPath, [fileURLToPath(module), ...words], {
    env: { ...cleanEnvironment(), ...environment },
    stdio: ['pipe', log, log]
  })
  closeSync(log)
  running.add(child)
  child.on('exit', () => running.delete(child))
  const stop = async (): Promise<void> => {
    if (!running.has(child)) return
    const exit = once(child, 'exit')
    child.kill()
    const kill = setTimeout(() => child.kill('SIGKILL'), 5000)
    await exit
    clearTimeout(kill)
  }
  for (const giveUpAt = Date.now() + 20_000; Date.now() < giveUpAt && child.exitCode === null; await sleep(1)) {
    const output = readFileSync(logFile, 'utf8')
    const address = /(?:https?|mongodb):\/\/[^\s"',]+/.exec(output)?.[0].replace(/[/.]+$/, '')
    if (address !== undefined) return { pid: child.pid, address, output, stop }
  }
  await stop()
  throw new Error(`${fileURLToPath(module)} did not start: ${readFileSync(logFile, 'utf8').slice(-1500)}`)
}

/** Excludes settings of the service in the caller's environment, and the loaders of a coverage run. */
function cleanEnvironment (): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, LANG } = process.env
  return { PATH, HOME, TMPDIR, LANG }
}
