import type { Cue } from './cue.js'

/** The cues that have not been played yet, for each command in the order in which they were added. */
export class CueQueues {
  readonly #queues = new Map<string, { cue: Cue, times: number }[]>()

  add (command: string, cue: Cue, times: number): void {
    const queue = this.#queues.get(command) ?? []
    this.#queues.set(command, queue)
    queue.push({ cue, times })
  }

  /** Takes the next cue for a command, if there is one. */
  next (command: string): Cue | undefined {
    const queue = this.#queues.get(command)
    const entry = queue?.[0]
    if (queue !== undefined && entry !== undefined && --entry.times <= 0) queue.shift()
    return entry?.cue
  }

  clear (): void {
    this.#queues.clear()
  }
}
