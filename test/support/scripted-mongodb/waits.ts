/** Timed waits that can all be ended at once, so that no timer outlives the server. */
export class Waits {
  readonly #waiting = new Set<() => void>()
  #over = false

  /** True after `cancel`: waiting code must do nothing more. */
  get areOver (): boolean {
    return this.#over
  }

  async for (ms: number): Promise<void> {
    if (this.#over) return
    await new Promise<void>(resolve => {
      const waiting = this.#waiting
      const timer = setTimeout(end, ms)
      waiting.add(end)
      function end () {
        clearTimeout(timer)
        waiting.delete(end)
        resolve()
      }
    })
  }

  cancel (): void {
    this.#over = true
    for (const end of this.#waiting) end()
  }
}
