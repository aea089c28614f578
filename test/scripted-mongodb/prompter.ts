import type { Cue } from './cue.js'
import type { Request } from './wire/request.js'

/** For how many commands a cue counts, and for which. */
export interface CueOptions {
  readonly times?: number
  readonly when?: (request: Request) => boolean
}

interface Entry {
  readonly cue: Cue
  readonly when: (request: Request) => boolean
  times: number
}

/** Holds the cues that are still to be played, for each command in the order in which they were given. */
export class Prompter {
  readonly #queues = new Map<string, Entry[]>()

  /** How many commands will still meet a cue. */
  get left (): number {
    return [...this.#queues.values()].flat().reduce((sum, { times }) => sum + times, 0)
  }

  add (command: string, cue: Cue, { times = 1, when = () => true }: CueOptions): void {
    const queue = this.#queues.get(command) ?? []
    this.#queues.set(command, queue)
    queue.push({ cue, when, times })
  }

  /** Takes the cue for this request, or none. */
  next (request: Request): Cue | undefined {
    const queue = this.#queues.get(request.command)
    const entry = queue?.find(({ when }) => when(request))
    if (queue === undefined || entry === undefined) return undefined
    if (--entry.times <= 0) queue.splice(queue.indexOf(entry), 1)
    return entry.cue
  }

  clear (): void {
    this.#queues.clear()
  }
}
