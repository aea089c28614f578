import { showProgress, type ProgressState } from './progress.js'
import type { PlantSource, SourcePage } from './sources/plant-source.js'
import { Tally } from './tally.js'
import { OutputClosed, TransferFault } from './transfer-fault.js'

// Not SIGHUP, which nohup(1) ignores.
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export interface PlantTarget {
  /** Takes the plants of a page; resolves when it can take the next page. */
  write (page: SourcePage): Promise<void>
  /** Resolves when each plant taken has its outcome. */
  finish (): Promise<void>
}

export interface Copy {
  task: 'export' | 'import' | 'migrate'
  /** Already open; closed at the end. */
  source: PlantSource
  target: (tally: Tally) => PlantTarget
  /** The source and the target, for people. */
  from: string
  to: string
  /** Whether only counts and problems are shown. */
  quiet: boolean
  /** If aborted, the copy stops cleanly: reading stops, and pending plants get their outcomes. */
  signal: AbortSignal
  /** Called when everything is copied, before the result is reported. */
  publish?: () => Promise<void>
}

/**
 * Runs a copy. Progress and up to 100 plants that are not copied are reported on standard error; the counts on standard
 * output, or for an export, which may write plants there, on standard error.
 * @returns the exit code: 0 if every plant was copied, otherwise 1
 */
export async function runCopy ({ task, source, target, from, to, quiet, signal, publish }: Copy): Promise<number> {
  const { stdout, stderr } = process
  // A closed standard output is not an error.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})
  const isExport = task === 'export'
  const progress = showProgress(stderr, task, { quiet })
  const tally = new Tally(line => progress.line(line))
  const started = performance.now()
  let part: number | undefined
  const state = (): ProgressState => {
    const perSecond = tally.done * 1_000 / Math.max(performance.now() - started, 1)
    return { part, done: `${tally.done.toLocaleString('en')} plants, ${Math.round(perSecond).toLocaleString('en')} a second` }
  }

  if (!quiet) progress.line(`from ${from}\nto   ${to}`)
  let fault: TransferFault | undefined
  let interrupted = false
  try {
    await copyPlants(source, target(tally), tally, signal, read => {
      part = read
      progress.update(state)
    })
    interrupted = signal.aborted
    if (!interrupted) await publish?.()
  } catch (error) {
    if (error instanceof OutputClosed) return 1
    if (!(error instanceof TransferFault)) throw error
    fault = error
    interrupted = signal.aborted
  } finally {
    await source.close()
  }
  progress.end(state())
  if (tally.unreported > 0) progress.line(`and ${tally.unreported.toLocaleString('en')} more`)
  if (!isExport) stdout.write(`${tally.summary('copied')}\n`)
  else if (!quiet || interrupted || fault !== undefined) progress.line(tally.summary('exported'))
  if (interrupted) progress.line(`not finished: interrupted: ${isExport ? 'nothing is kept' : 'run it again to continue'}`)
  else if (fault !== undefined) progress.line(`not finished: ${fault.message}${fault.temporary ? ': run it again to continue' : ''}`)
  return interrupted || fault !== undefined || tally.notCopied > 0 ? 1 : 0
}

/** @param onProgress called after each page with the part that has been read, from 0 to 1; undefined if unknown */
async function copyPlants (
  source: PlantSource, target: PlantTarget, tally: Tally, signal: AbortSignal, onProgress: (part?: number) => void
): Promise<void> {
  try {
    for await (const page of source.pages(signal)) {
      for (const entry of page.invalid) tally.invalid(entry)
      await target.write(page)
      const { position, size } = source
      onProgress(size === undefined ? undefined : size === 0 ? 1 : Math.min(position / size, 1))
    }
  } catch (fault) {
    // Pending plants are still counted. A second fault is ignored: it would hide the first.
    await target.finish().catch(() => {})
    throw fault
  }
  await target.finish()
}

/** A signal that SIGINT and SIGTERM abort, so that the command can stop cleanly; the second one ends the process. */
export function interruption (): AbortSignal {
  const controller = new AbortController()
  const interrupt = (): void => {
    for (const name of SIGNALS) process.off(name, interrupt)
    controller.abort()
  }
  for (const name of SIGNALS) process.on(name, interrupt)
  return controller.signal
}
