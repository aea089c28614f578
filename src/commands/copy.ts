import { codeOf } from '../error-message.js'
import { unwritable } from './new-file.js'
import { showProgress } from './progress.js'
import { CopyError, type Entry, type PlantSource } from './sources/plant-source.js'

/** Further plants that are not copied are counted, but not named. */
const MAX_NAMED = 100

export interface CopyTask {
  name: 'export' | 'import' | 'migrate'
  source: PlantSource
  /** The source and the target, for people. */
  from: string
  to: string
  /** Whether only counts and problems are shown. */
  quiet: boolean
}

/**
 * Runs a copy. Progress and up to 100 plants that are not copied are reported on standard error; the counts on standard
 * output, or for an export, which may write plants there, on standard error.
 * @param copy copies and counts entries; once the signal is aborted, it ends cleanly, with an error
 * @returns the exit code: 0 if every plant was copied, otherwise 1
 */
export async function runCopy (
  { name, source, from, to, quiet }: CopyTask,
  copy: (pages: AsyncIterable<readonly Entry[]>, tally: Tally, signal: AbortSignal) => Promise<void>
): Promise<number> {
  const isExport = name === 'export'
  const signal = interruption()
  const started = performance.now()
  const tally = new Tally(line => progress.line(line))
  const progress = showProgress(process.stderr, name, quiet, () => {
    const percent = Math.floor(Math.min(source.part(tally.done), 1) * 100)
    const perSecond = Math.round(tally.done * 1_000 / Math.max(performance.now() - started, 1))
    const counts = `${tally.done.toLocaleString('en')} plants, ${perSecond.toLocaleString('en')} a second`
    return Number.isNaN(percent) ? counts : `${percent} %, ${counts}`
  })
  if (!quiet) progress.line(`from ${from}\nto   ${to}`)
  let fault: string | undefined
  try {
    await copy(source.pages(signal), tally, signal)
  } catch (cause) {
    const error = unwritable(to, cause)
    if (signal.aborted) fault = `interrupted: ${isExport ? 'nothing is kept' : 'run it again to continue'}`
    // The reader of the output has closed it, as head does.
    else if (isExport && codeOf(cause) === 'EPIPE') return 1
    else if (error instanceof CopyError) fault = error.message
    else throw error
  } finally {
    progress.end()
  }
  const { copied, alreadyThere, inConflict, invalid, notCopied } = tally
  if (notCopied > MAX_NAMED) progress.line(`and ${(notCopied - MAX_NAMED).toLocaleString('en')} more`)
  if (!isExport) process.stdout.write(`copied ${copied}, already there ${alreadyThere}, in conflict ${inConflict}, invalid ${invalid}\n`)
  else if (!quiet || fault !== undefined) progress.line(`exported ${copied}, invalid ${invalid}`)
  if (fault !== undefined) progress.line(`not finished: ${fault}`)
  return fault === undefined && notCopied === 0 ? 0 : 1
}

/** Counts the outcomes of a copy. */
export class Tally {
  copied = 0
  /** Plants that were in the target before. */
  alreadyThere = 0
  /** Plants whose id another plant has. */
  inConflict = 0
  /** Entries of the source that are not plants, or that the target does not accept. */
  invalid = 0

  /** @param report called with a line for each of the first 100 plants that are not copied */
  constructor (private readonly report: (line: string) => void) {}

  /** Counts an entry that is not copied. */
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

/**
 * A signal that SIGINT and SIGTERM abort, so that the command can stop cleanly; sent again, they end the process. Not
 * SIGHUP, which nohup(1) ignores.
 */
export function interruption (): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => controller.abort())
  return controller.signal
}
