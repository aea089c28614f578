import type { Surroundings } from './command-line.js'
import { showProgress, type Task } from './progress.js'
import type { Entry, PlantSource } from './sources/plant-source.js'

/** Further plants that are not copied are counted, but not named. */
const MAX_NAMED = 100
/** Milliseconds that what is pending at an interruption has to settle. */
const GRACE = 2_000

/** Copies and counts entries. Once the signal is aborted, it ends as soon as it can, with an error. */
type Copy = (pages: AsyncIterable<readonly Entry[]>, tally: Tally, interruption: AbortSignal) => Promise<void>

/**
 * Runs a copy. Progress and up to 100 plants that are not copied are reported on standard error, and the counts, except
 * of an export, which may write plants there, on standard output.
 * @returns the exit code: 0 if every plant was copied, otherwise 1
 * @throws if it was interrupted, or could not be finished
 */
export async function runCopy (
  task: Task, source: PlantSource, { interruption, stdout, stderr }: Surroundings, copy: Copy
): Promise<number> {
  const progress = showProgress(task, stderr, () => stateOf(source, tally))
  const tally = new Tally(progress.line)
  try {
    await orInterrupted(copy(source.pages(interruption), tally, interruption), interruption)
  } finally {
    progress.end()
    const { copied, alreadyThere, inConflict, invalid, notCopied } = tally
    if (notCopied > MAX_NAMED) progress.line(`and ${(notCopied - MAX_NAMED).toLocaleString('en')} more`)
    if (task.name !== 'export') stdout.write(`copied ${copied}, already there ${alreadyThere}, in conflict ${inConflict}, invalid ${invalid}\n`)
  }
  return tally.notCopied === 0 ? 0 : 1
}

/** Waits for a promise, but only a while after an interruption: a store or a disk may never respond. */
export async function orInterrupted<T> (
  promise: Promise<T> | undefined, interruption: AbortSignal
): Promise<T | undefined> {
  const graceIsOver = new Promise<never>((_resolve, reject) => {
    const begin = () => { setTimeout(reject, GRACE, interruption.reason) }
    if (interruption.aborted) begin()
    else interruption.addEventListener('abort', begin)
  })
  return Promise.race([promise, graceIsOver])
}

/** How far a copy has come, for people. */
function stateOf (source: PlantSource, { done, invalid }: Tally): string {
  const plants = `${(done - invalid).toLocaleString('en')} plants`
  const counts = invalid === 0 ? plants : `${plants}, ${invalid.toLocaleString('en')} invalid`
  const percent = Math.floor(Math.min(source.part(done), 1) * 100)
  return Number.isNaN(percent) ? counts : `${percent} %, ${counts}`
}

/** Counts the outcomes of a copy; invalid are entries that are not plants, or that the target does not accept. */
export class Tally {
  copied = 0
  alreadyThere = 0
  inConflict = 0
  invalid = 0

  constructor (private readonly report: (line: string) => void) {}

  add (outcome: 'inConflict' | 'invalid', where: string, reason: string): void {
    this[outcome]++
    if (this.notCopied > MAX_NAMED) return
    // The content of a file must not send control characters to a terminal.
    this.report(`${where}: ${reason}`.replace(/\p{Cc}/gu, '\ufffd'))
  }

  get notCopied (): number {
    return this.inConflict + this.invalid
  }

  get done (): number {
    return this.copied + this.alreadyThere + this.notCopied
  }
}
