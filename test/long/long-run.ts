import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { Program, token } from '../support/process/program.js'

/** A folder below another one, removed when this process ends. */
export function temporaryFolder (parent: string): string {
  const folder = mkdtempSync(join(parent, 'plant-store-long-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

/** Starts a program, which ends with this process at the latest. */
export function launch (args: readonly string[], env: NodeJS.ProcessEnv): Program {
  const program = new Program(args, { ACCESS_TOKENS: token, ...env })
  process.on('exit', () => program.child.kill('SIGKILL'))
  return program
}

/** Starts the service on a database, and waits until it listens. */
export async function startService (dataDir: string): Promise<{ service: Program, address: string }> {
  const service = launch([], { DATA_DIR: dataDir, PORT: '0', NODE_ENV: 'production' })
  return { service, address: await service.ready() }
}

/** A different id for each number, spread over all of int64: the table is written everywhere, not only at its end. */
export function spreadId (number: number): bigint {
  return BigInt.asIntN(64, BigInt(number) * 0x9e3779b97f4a7c15n)
}

/** Returns a function that creates the plant with an id; it resolves with the status, or with 0 without a response. */
export function creator (address: string): (id: bigint) => Promise<number> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
  const { hostname, port } = new URL(address)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const options = { hostname, port, path: '/plants', method: 'POST', agent, headers, timeout: 30_000 }
  return id => new Promise(resolve => {
    const request = http.request(options, response => {
      response.resume().on('close', () => resolve(response.complete ? response.statusCode ?? 0 : 0))
    })
    request.on('timeout', () => request.destroy()).on('error', () => resolve(0))
    request.end(`{"id":${id},"name":"plant ${id}"}`)
  })
}

/** The resident memory of a process in MB; NaN if it has ended. */
export function memoryOf (pid: number): number {
  try {
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024
  } catch {
    return NaN
  }
}

/** How many descriptors a process has open; NaN on a system without /proc. */
export function descriptorsOf (pid: number): number {
  const folder = `/proc/${pid}/fd`
  return existsSync(folder) ? readdirSync(folder).length : NaN
}

/** The size of a database with its log, in MB. */
export function databaseSize (dataDir: string): number {
  const sizes = readdirSync(dataDir).map(name => statSync(join(dataDir, name)).size)
  return sizes.reduce((sum, size) => sum + size, 0) / 1e6
}

/** Quantiles of numbers, such as 0.99. */
export function quantiles (numbers: readonly number[], ...parts: number[]): number[] {
  const sorted = Float64Array.from(numbers).sort()
  return parts.map(part => sorted[Math.min(Math.floor(part * sorted.length), sorted.length - 1)] ?? NaN)
}

/** A number for people, with at most so many decimals. */
export function shown (number: number, decimals = 0): string {
  return Number.isNaN(number) ? '-' : number.toLocaleString('en', { maximumFractionDigits: decimals })
}

/** The first two rows of a table in Markdown. */
export function heading (...names: string[]): string {
  return `${row(...names)}\n${row(...names.map(() => '---:'))}`
}

/** A row of a table in Markdown. */
export function row (...cells: string[]): string {
  return `| ${cells.join(' | ')} |`
}
