import type { StoreLocation } from '../configuration/configuration.js'
import { describeStore } from '../configured-store.js'
import type { Command, Output, Surroundings } from './command-line.js'
import type { Entry, PlantSource } from './sources/plant-source.js'

/** Further plants that are not copied are counted, but not named. */
const MAX_NAMED = 100

/**
 * Runs a copy, and reports it on standard error; the counts, except those of an export, on standard output.
 * @param copy copies and counts entries. Once the signal is aborted, it ends as soon as it can, with an error
 * @returns the exit code: 0 if every plant was copied, otherwise 1
 */
export async function runCopy (
  command: Command, location: StoreLocation, source: PlantSource, { interruption, stdout, stderr }: Surroundings,
  copy: (pages: AsyncIterable<readonly Entry[]>, tally: Tally, interruption: AbortSignal) => Promise<void>
): Promise<number> {
  const progress = showProgress(command, describeStore(location), stderr, () => stateOf(source, tally))
  const tally = new Tally(progress.line)
  try {
    await copy(source.pages(interruption), tally, interruption)
  } finally {
    progress.end()
    const { copied, alreadyThere, inConflict, invalid, notCopied } = tally
    if (notCopied > MAX_NAMED) progress.line(`and ${(notCopied - MAX_NAMED).toLocaleString('en')} more`)
    if (command.name !== 'export') stdout.write(`copied ${copied}, already there ${alreadyThere}, in conflict ${inConflict}, invalid ${invalid}\n`)
  }
  return tally.notCopied === 0 ? 0 : 1
}

/** Shows the store and the state of a command: on a terminal in a line that is redrawn, else every five seconds. */
export function showProgress (
  { name, quiet }: Pick<Command, 'name' | 'quiet'>, store: string,
  output: Pick<Output, 'isTTY' | 'columns' | 'write'>, state: () => string
) {
  /** Writes a line above the progress, even with `--quiet`. */
  function line (text: string): void {
    output.write(output.isTTY ? `\r${text}\x1b[K\n` : `${text}\n`)
  }

  function show (): void {
    const text = `${name}: ${state()}`
    // The last column is left free: some terminals wrap after it.
    if (output.isTTY) output.write(`\r${text.slice(0, (output.columns || 80) - 1)}\x1b[K`)
    else line(text)
  }

  if (!quiet) line(`${name}: ${store}`)
  const timer = quiet ? undefined : setInterval(show, output.isTTY ? 100 : 5_000)
  return {
    line,
    end (): void {
      clearInterval(timer)
      if (!quiet) line(`${name}: ${state()}`)
    }
  }
}

/** How far a copy has come, for people. */
function stateOf (source: PlantSource, { copied, alreadyThere, inConflict, invalid }: Tally): string {
  const valid = copied + alreadyThere + inConflict
  const plants = `${valid.toLocaleString('en')} ${valid === 1 ? 'plant' : 'plants'}`
  const counts = invalid === 0 ? plants : `${plants}, ${invalid.toLocaleString('en')} invalid`
  const percent = Math.floor(Math.min(source.part(valid + invalid), 1) * 100)
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
    // The content of a file must not send control characters to a terminal.
    if (this.notCopied <= MAX_NAMED) this.report(`${where}: ${reason}`.replace(/\p{Cc}/gu, '\ufffd'))
  }

  get notCopied (): number {
    return this.inConflict + this.invalid
  }
}
