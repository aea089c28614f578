import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { CannotCheck } from './connection.js'

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 10_000

/** A server that the check itself starts, by a command of a shell, in a process group of its own. */
export class StartedServer {
  #child: ChildProcess | undefined
  #output = ''

  constructor (private readonly command: string, private readonly url: string) {}

  /**
   * Starts it, and waits until it responds.
   * @throws {CannotCheck} if another server is there, or if it does not respond
   */
  async start (): Promise<void> {
    const isThere = await this.#responds()
    if (isThere) throw new CannotCheck('a server responds at this URL already: stop it, or leave out --start')
    this.#output = ''
    const child = spawn(this.command, { shell: true, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => { this.#output = (this.#output + text).slice(-2_000) })
    }
    for (const start = performance.now(); performance.now() - start < START_TIMEOUT_MS;) {
      const { exitCode } = child
      if (exitCode !== null) throw new CannotCheck(`the command ended with ${exitCode}: ${this.#lastLine()}`)
      if (await this.#responds()) return
      await sleep(100)
    }
    throw new CannotCheck(`the server did not respond within ${START_TIMEOUT_MS / 1_000} s: ${this.#lastLine()}`)
  }

  /** Ends all its processes at once, without warning. */
  async kill (): Promise<void> {
    this.#signal('SIGKILL')
    await this.#allEnded()
  }

  async stop (): Promise<void> {
    this.#signal('SIGTERM')
    if (!await this.#allEnded()) await this.kill()
  }

  /** Waits until its processes have ended. A shell may end before the server that it started. */
  async #allEnded (): Promise<boolean> {
    for (const start = performance.now(); performance.now() - start < STOP_TIMEOUT_MS;) {
      if (!this.#signal(0)) return true
      await sleep(20)
    }
    return false
  }

  /** Sends a signal to its processes, or 0 to look whether there are any. Returns whether there are. */
  #signal (signal: NodeJS.Signals | 0): boolean {
    const pid = this.#child?.pid
    if (pid === undefined) return false
    try {
      return process.kill(-pid, signal)
    } catch {
      return false
    }
  }

  async #responds (): Promise<boolean> {
    const client = new MongoClient(this.url, { serverSelectionTimeoutMS: 1_000, connectTimeoutMS: 1_000 })
    try {
      await client.db('admin').command({ ping: 1 })
      return true
    } catch {
      return false
    } finally {
      await client.close(true)
    }
  }

  #lastLine (): string {
    return this.#output.trim().split('\n').at(-1) || 'it printed nothing'
  }
}
