import { execFileSync, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export const projectFile = (path: string): string => resolve(path)

/** The program compiled with the tests by `npm run compile`. */
export const program = projectFile('build/src/service/main.js')

/** The package compiled with the tests: code in this folder can import `plant-store` by its name. */
export const compiledPackage = projectFile('build')

/** The only code block of the documentation that contains a text or, if there is none, the only inline code. */
export function documented (text: string, ...pages: string[]): string {
  return execFileSync(projectFile('.ci/documented'), [text, ...pages], { encoding: 'utf8' })
}

/** The token that `startService` configures and `create` sends. */
export const token = 'a-token-for-the-service'

export interface ExitResult {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

interface ProgramOptions {
  preload?: string[]
  /** Whether to give it a standard input to which the test can write. */
  input?: boolean
}

/** A process of the program, which inherits only the variable PATH. */
export class Program {
  readonly child: ChildProcess
  readonly ended: Promise<ExitResult>
  stdout = ''
  stderr = ''

  constructor (
    args: readonly string[], env: NodeJS.ProcessEnv,
    { preload = [], input = false }: ProgramOptions = {}
  ) {
    const options: SpawnOptions = {
      env: { PATH: process.env.PATH, ...env }, stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe']
    }
    this.child = spawn(process.execPath, [...preload, program, ...args], options)
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => { this.stdout += text })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => { this.stderr += text })
    this.ended = once(this.child, 'close').then(([code, signal]) => {
      return { code, signal, stdout: this.stdout, stderr: this.stderr }
    })
  }

  get pid (): number {
    return this.child.pid as number
  }

  get log (): Record<string, unknown>[] {
    return this.stdout.split('\n').filter(line => line.startsWith('{')).map(line => JSON.parse(line))
  }

  /** Waits for a log line that contains the text, the first one or the one numbered `times`, and returns it. */
  async logged (text: string, times = 1, timeout = 60_000): Promise<Record<string, unknown>> {
    for (const start = performance.now(); performance.now() - start < timeout;) {
      const lines = this.log.filter(({ msg }) => String(msg).includes(text))
      if (lines.length >= times) return lines[times - 1] as Record<string, unknown>
      if (this.child.exitCode !== null) break
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    throw new Error(`no log line "${text}" in:\n${this.stdout}\n${this.stderr}`)
  }

  /** Waits until the service is ready, and returns its address. */
  async ready (): Promise<string> {
    return (await this.logged('ready at')).address as string
  }

  async end (signal: NodeJS.Signals): Promise<ExitResult> {
    this.child.kill(signal)
    return this.ended
  }
}

interface Test {
  teardown: (end: () => unknown) => unknown
}

/** A temporary folder, removed after the test. */
export function testFolder (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

/** Starts the service on a free port, and kills it after the test. */
export function launch (t: Test, env: NodeJS.ProcessEnv, options?: ProgramOptions): Program {
  const service = new Program([], { PORT: '0', ...env }, options)
  t.teardown(() => service.end('SIGKILL'))
  return service
}

/** Starts the service with a token and its own folder, and waits until it is ready. */
export async function startService (
  t: Test, env: NodeJS.ProcessEnv = {}, options?: ProgramOptions
): Promise<Program & { address: string, folder: string }> {
  const folder = testFolder(t)
  const tokens = env.ACCESS_TOKENS_FILE ? undefined : token
  const service = launch(t, { DATA_DIR: folder, ACCESS_TOKENS: tokens, ...env }, options)
  return Object.assign(service, { folder, address: await service.ready() })
}

export async function run (
  args: readonly string[], env: NodeJS.ProcessEnv, options: ProgramOptions = {}
): Promise<ExitResult> {
  return new Program(args, env, options).ended
}

let ids = 0

/** Creates a plant with the token, by default with a new id in each call. */
export async function create (
  address: string, { bearer = token, id = ++ids, name = 'Monstera' } = {}
): Promise<Response> {
  return fetch(`${address}/plants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id, name })
  })
}
