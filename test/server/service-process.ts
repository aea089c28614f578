import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { EnvironmentSchema } from '../../src/server/configuration.js'
import { program } from '../project.js'

/** The service as a process of its own, as `npm start` runs it. */
export class ServiceProcess {
  readonly child: ChildProcess
  /** All that it wrote, standard output and standard error each. */
  stdout = ''
  stderr = ''
  readonly #exit: Promise<{ code: number | null, signal: NodeJS.Signals | null }>

  /**
   * Starts it with these variables and none of the test's own; killed after the test.
   * @param counted so that tap counts their coverage; without, the program starts faster
   */
  constructor (t: Test, env: NodeJS.ProcessEnv, { counted = false } = {}) {
    const coverage = counted ? {} : { _TAPJS_PROCESSINFO_COVERAGE_: '0' }
    this.child = spawn(process.execPath, [program], { env: { ...neutral(process.env), ...coverage, PORT: '0', ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => { this.stdout += text })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => { this.stderr += text })
    this.#exit = once(this.child, 'close').then(([code, signal]) => ({ code, signal }))
    t.teardown(async () => {
      this.child.kill('SIGKILL')
      await this.#exit
    })
  }

  /** Resolves with the address that its ready line names. */
  async address (): Promise<string> {
    for (;;) {
      const [, address] = /ready at (https?:\/\/[^\s"]+)"/.exec(this.stdout) ?? []
      if (address !== undefined) return address
      if (this.child.exitCode !== null) throw new Error(`it ended: ${this.stderr}`)
      await Promise.race([once(this.child.stdout as NonNullable<ChildProcess['stdout']>, 'data'), this.#exit])
    }
  }

  async exit (): Promise<{ code: number | null, signal: NodeJS.Signals | null }> {
    return await this.#exit
  }

  async end (signal: NodeJS.Signals): Promise<{ code: number | null, signal: NodeJS.Signals | null }> {
    this.child.kill(signal)
    return await this.#exit
  }
}

/** An environment without what the service reads, nor what the test got for itself. */
function neutral (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const read = new Set(['NODE_ENV', 'NODE_OPTIONS', ...Object.keys(EnvironmentSchema.properties)])
  return Object.fromEntries(Object.entries(env).filter(([name]) => !read.has(name.replace(/_FILE$/, ''))))
}
