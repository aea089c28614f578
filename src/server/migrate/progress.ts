const WIDTH = 30
/** Milliseconds between two looks: on a terminal, and where lines are kept. */
const REDRAW = 100
const LINE = 5_000

/** Shows how far a task is: a bar on a terminal, a line every five seconds elsewhere. */
export class Progress {
  readonly #output: NodeJS.WriteStream
  readonly #task: string
  readonly #total: number
  readonly #started = performance.now()
  #last = performance.now()

  constructor (output: NodeJS.WriteStream, task: string, total: number) {
    this.#output = output
    this.#task = task
    this.#total = total
  }

  update (done: number): void {
    const now = performance.now()
    if (now - this.#last < (this.#output.isTTY ? REDRAW : LINE)) return
    this.#last = now
    this.#show(done)
  }

  /** Shows the end, and leaves the line to what comes next. */
  end (done: number): void {
    this.#show(done)
    if (this.#output.isTTY) this.#output.write('\n')
  }

  #show (done: number): void {
    const part = this.#total === 0 ? 1 : Math.min(done / this.#total, 1)
    const rate = Math.round(done / Math.max((performance.now() - this.#started) / 1000, 0.001))
    const told = `${done.toLocaleString('en')} of ${this.#total.toLocaleString('en')} plants (${Math.floor(part * 100)} %), ${rate.toLocaleString('en')} a second`
    if (!this.#output.isTTY) {
      this.#output.write(`${this.#task}: ${told}\n`)
      return
    }
    const full = Math.round(part * WIDTH)
    this.#output.write(`\r${this.#task} [${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}] ${told}\x1b[K`)
  }

  /** Writes a line of its own, above the bar. */
  line (text: string): void {
    this.#output.write(`${this.#output.isTTY ? '\r\x1b[K' : ''}${text}\n`)
  }
}
