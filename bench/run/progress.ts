import { performance } from 'node:perf_hooks'

type Terminal = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean, columns?: number }

/** Shows what is being measured, and how long all of it will still take. */
export class Progress {
  readonly #total: number
  readonly #steps: number
  readonly #terminal: Terminal
  readonly #now: () => number
  readonly #begunAt: number
  #begun = 0
  /** Seconds that were expected for the steps before the current one. */
  #expected = 0
  #current = 0

  /** @param total seconds that are expected for all steps; @param now in ms */
  constructor (total: number, steps: number, terminal: Terminal = process.stderr, now = () => performance.now()) {
    this.#total = total
    this.#steps = steps
    this.#terminal = terminal
    this.#now = now
    this.#begunAt = now()
  }

  /** @param seconds that the step is expected to take */
  begin (what: string, seconds: number): void {
    this.#begun++
    this.#expected += this.#current
    this.#current = seconds
    const { isTTY = false, columns = 80 } = this.#terminal
    const line = `${this.#begun}/${this.#steps}, ${timeText(this.secondsLeft)} left: ${what}`
    this.#terminal.write(isTTY ? `\r\u001b[K${line.slice(0, columns - 1)}` : `${line}\n`)
  }

  /** As expected, or longer or shorter by as much as the steps so far. */
  get secondsLeft (): number {
    const left = this.#total - this.#expected
    if (this.#expected === 0) return left
    const elapsed = (this.#now() - this.#begunAt) / 1000
    return left * elapsed / this.#expected
  }
}

/** In steps that are not finer than the estimate. */
function timeText (seconds: number): string {
  const tens = Math.max(10, Math.ceil(seconds / 10) * 10)
  return tens < 60 ? `${tens} s` : `${Math.floor(tens / 60)} min ${tens % 60} s`
}
