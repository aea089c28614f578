import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { get } from 'node:http'
import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from './start-process.js'

/** Milliseconds from starting the process to its first answer to a GET. */
export async function startTime (command: Command, token: string, folder: string): Promise<number> {
  const port = await freePort()
  const child = spawn(process.execPath, command.arguments, {
    env: { PATH: process.env.PATH, ...command.environment, PORT: String(port), ACCESS_TOKENS: token, DATA_DIR: folder },
    stdio: 'ignore'
  })
  const end = (): void => { child.kill('SIGKILL') }
  process.once('exit', end)
  const start = performance.now()
  try {
    while (performance.now() - start < 20_000 && child.exitCode === null) {
      if (await answers(port)) return performance.now() - start
      await sleep(1)
    }
    throw new Error(`${command.arguments.join(' ')} gave no answer`)
  } finally {
    process.removeListener('exit', end)
    const gone = new Promise((resolve) => child.once('exit', resolve))
    end()
    if (child.exitCode === null && child.signalCode === null) await gone
  }
}

async function answers (port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const request = get({ port, host: '127.0.0.1', path: '/health/live', agent: false, timeout: 2000 }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
}

async function freePort (): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
