import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { program } from '../project.js'

export const TOKEN = 'a-token-for-the-faults'

/** The service as a process of its own, as it was built, or else compiled from the sources as they are now. */
export class ServiceUnderFault {
  readonly child: ChildProcess
  readonly ended: Promise<{ code: number | null, signal: NodeJS.Signals | null }>
  stdout = ''
  stderr = ''

  /** Has these variables and no others; `env` sees to that, as tap would add a hook that makes some signals deadly. */
  constructor (env: Record<string, string>) {
    const variables = Object.entries({ PATH: process.env.PATH, PORT: '0', ACCESS_TOKENS: TOKEN, ...env }).map(([name, value]) => `${name}=${value}`)
    this.child = spawn('env', ['-i', ...variables, process.execPath, program], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => { this.stdout += text })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => { this.stderr += text })
    this.ended = once(this.child, 'close').then(([code, signal]) => ({ code, signal }))
  }

  get pid (): number {
    return this.child.pid as number
  }

  /** Resolves with the address of the ready line. */
  async address (): Promise<string> {
    for (let waited = 0; waited < 20_000 && this.child.exitCode === null; waited += 10) {
      const address = /ready at (http:\/\/[^\s"]+)/.exec(this.stdout)?.[1]
      if (address !== undefined) return address
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    throw new Error(`the service did not start: ${this.stderr}`)
  }

  async end (signal: NodeJS.Signals): Promise<{ code: number | null, signal: NodeJS.Signals | null }> {
    this.child.kill(signal)
    return await this.ended
  }
}
