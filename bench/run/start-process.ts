import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

interface Start {
  words?: string[]
  environment?: Record<string, string>
  logFile: string // somebody would have to empty a pipe, at the cost of the processor under measurement
  // returns the process's address; by default the first one in its output
  ready?: (output: string) => string | undefined | Promise<string | undefined>
}

const running = new Set<ChildProcess>()
process.on('exit', () => { for (const child of running) child.kill('SIGKILL') })

const addressIn = (output: string): string | undefined => /(?:https?|mongodb):\/\/[^\s"',]+/.exec(output)?.[0].replace(/[/.]+$/, '')

/** Starts a module in a process of its own, and waits until it is ready. */
export async function startProcess (module: URL, { words = [], environment = {}, logFile, ready = addressIn }: Start) {
  const log = openSync(logFile, 'w')
  // Its standard input closes with this process, at which the scripted MongoDB exits.
  const child = spawn(process.execPath, [fileURLToPath(module), ...words], { env: { ...cleanEnvironment(), ...environment }, stdio: ['pipe', log, log] })
  closeSync(log)
  const stop = keep(child)
  for (const giveUpAt = Date.now() + 20_000; Date.now() < giveUpAt && child.exitCode === null; await sleep(1)) {
    const address = await ready(readFileSync(logFile, 'utf8'))
    if (address !== undefined) return { pid: child.pid, address, stop }
  }
  await stop()
  throw new Error(`${fileURLToPath(module)} did not start: ${readFileSync(logFile, 'utf8').slice(-1500)}`)
}

/** Starts a module that exchanges messages with this process. */
export function forkModule (module: URL): { child: ChildProcess, stop: () => Promise<void> } {
  const child = fork(module, { env: cleanEnvironment(), execArgv: [] })
  return { child, stop: keep(child) }
}

/**
 * The measured process must not inherit settings of the service from the caller's environment, nor the loaders of a
 * coverage run.
 */
function cleanEnvironment (): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, LANG } = process.env
  return { PATH, HOME, TMPDIR, LANG }
}

/** @returns how to stop it */
function keep (child: ChildProcess): () => Promise<void> {
  running.add(child)
  child.on('exit', () => running.delete(child))
  return async () => {
    if (!running.has(child)) return
    const exit = once(child, 'exit')
    child.kill()
    const kill = setTimeout(() => child.kill('SIGKILL'), 5000)
    await exit
    clearTimeout(kill)
  }
}

export async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
