import { codeOf } from '../error-message.js'
import { showProgress } from './progress.js'
import type { PlantSource } from './sources/plant-source.js'
import { Tally } from './tally.js'
import { TransferFault, unwritable } from './transfer-fault.js'

// Not SIGHUP, which nohup(1) ignores.
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export interface Copy {
  task: 'export' | 'import' | 'migrate'
  source: PlantSource
  /**
   * Copies the entries of the source, and counts them.
   * @param signal if aborted, it stops cleanly, with an error: pending plants get their outcomes
   */
  copy: (tally: Tally, signal: AbortSignal) => Promise<void>
  /** The source and the target, for people. */
  from: string
  to: string
  /** Whether only counts and problems are shown. */
  quiet: boolean
}

/**
 * Runs a copy. Progress and up to 100 plants that are not copied are reported on standard error; the counts on standard
 * output, or for an export, which may write plants there, on standard error.
 * @returns the exit code: 0 if every plant was copied, otherwise 1
 */
export async function runCopy ({ task, source, copy, from, to, quiet }: Copy): Promise<number> {
  const { stdout, stderr } = process
  const isExport = task === 'export'
  const signal = interruption()
  const started = performance.now()
  const tally = new Tally(line => progress.line(line))
  const progress = showProgress(stderr, task, quiet, () => {
    const part = Math.min(source.part(tally.done), 1)
    const perSecond = tally.done * 1_000 / Math.max(performance.now() - started, 1)
    const percent = Number.isNaN(part) ? '' : `${Math.floor(part * 100)} %, `
    return `${percent}${tally.done.toLocaleString('en')} plants, ${Math.round(perSecond).toLocaleString('en')} a second`
  })
  if (!quiet) progress.line(`from ${from}\nto   ${to}`)
  let fault: string | undefined
  try {
    await copy(tally, signal)
  } catch (cause) {
    const error = unwritable(to, cause)
    if (signal.aborted) fault = `interrupted: ${isExport ? 'nothing is kept' : 'run it again to continue'}`
    // The reader of the output has closed it, as head does.
    else if (isExport && codeOf(cause) === 'EPIPE') return 1
    else if (error instanceof TransferFault) fault = error.message
    else throw error
  } finally {
    progress.end()
  }
  const { copied, alreadyThere, inConflict, invalid, notCopied, unreported } = tally
  if (unreported > 0) progress.line(`and ${unreported.toLocaleString('en')} more`)
  if (!isExport) stdout.write(`copied ${copied}, already there ${alreadyThere}, in conflict ${inConflict}, invalid ${invalid}\n`)
  else if (!quiet || fault !== undefined) progress.line(`exported ${copied}, invalid ${invalid}`)
  if (fault === undefined) return notCopied > 0 ? 1 : 0
  progress.line(`not finished: ${fault}`)
  return 1
}

/** A signal that SIGINT and SIGTERM abort, so that the command can stop cleanly; the second one ends the process. */
export function interruption (): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => {
    for (const name of SIGNALS) process.off(name, abort)
    controller.abort()
  }
  for (const name of SIGNALS) process.on(name, abort)
  return controller.signal
}
