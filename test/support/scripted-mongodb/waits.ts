/** Timed waits that can all be ended together, so that no timer outlives the server. */
export class Waits {
  readonly #waiting = new Set<() => void>()
  #over = false

  /** True after `cancel`, when code that was waiting must not continue. */
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
