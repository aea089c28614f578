import type { Entry, PlantSource } from './sources/plant-source.js'
import { interruption, showProgress, type Task } from './terminal.js'

/** Further plants that are not copied are counted, but not named. */
const MAX_NAMED = 100

/**
 * Runs a copy. Progress and up to 100 plants that are not copied are reported on standard error, and the counts, except
 * of an export, which may write plants there, on standard output.
 * @param copy copies and counts entries; once the signal is aborted, it ends cleanly, with an error
 * @returns the exit code: 0 if every plant was copied, otherwise 1
 * @throws {CopyError} if it was interrupted, or could not be finished
 */
export async function runCopy (
  task: Task, source: PlantSource,
  copy: (pages: AsyncIterable<readonly Entry[]>, tally: Tally, signal: AbortSignal) => Promise<void>
): Promise<number> {
  const signal = interruption()
  const progress = showProgress(task, () => {
    const percent = Math.floor(Math.min(source.part(tally.done), 1) * 100)
    const plants = `${tally.done.toLocaleString('en')} plants`
    return Number.isNaN(percent) ? plants : `${percent} %, ${plants}`
  })
  const tally = new Tally(progress.line)
  try {
    await copy(source.pages(signal), tally, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    progress.end()
    const { copied, alreadyThere, inConflict, invalid, notCopied } = tally
    if (notCopied > MAX_NAMED) progress.line(`and ${(notCopied - MAX_NAMED).toLocaleString('en')} more`)
    if (task.name !== 'export') process.stdout.write(`copied ${copied}, already there ${alreadyThere}, in conflict ${inConflict}, invalid ${invalid}\n`)
  }
  return tally.notCopied === 0 ? 0 : 1
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
