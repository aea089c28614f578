/** Further problems are counted, but not reported one by one. */
const MAX_REPORTED = 100

/** The outcomes of the plants of a transfer. */
export class Tally {
  copied = 0
  /** Plants that were in the target before. */
  alreadyThere = 0
  inConflict = 0
  invalid = 0
  readonly #report: (line: string) => void

  /** @param report called with a line for each of the first 100 plants that are not copied */
  constructor (report: (line: string) => void) {
    this.#report = report
  }

  /** Counts an entry of the source that is not a plant, or that the target does not accept. */
  addInvalid (place: string, reason: string): void {
    this.invalid++
    this.#add(place, reason)
  }

  /** Counts a plant whose id another plant has. */
  addConflict (place: string, id: bigint): void {
    this.inConflict++
    this.#add(place, `another plant has the id ${id}`)
  }

  #add (place: string, reason: string): void {
    if (this.unreported > 0) return
    // The content of a file must not send control characters to a terminal.
    this.#report(`${place}: ${reason}`.replace(/\p{Cc}/gu, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`))
  }

  get done (): number {
    return this.copied + this.alreadyThere + this.notCopied
  }

  /** Entries of the source that are not in the target. */
  get notCopied (): number {
    return this.inConflict + this.invalid
  }

  /** How many of those were only counted. */
  get unreported (): number {
    return Math.max(this.notCopied - MAX_REPORTED, 0)
  }
}
