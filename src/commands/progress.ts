import type { Output } from './command-line.js'

export interface Task {
  name: 'backup' | 'export' | 'import' | 'migrate'
  /** The source and the target, for people. */
  from: string
  to: string
  /** Whether only problems, and the counts of plants, are shown. */
  quiet: boolean
}

/**
 * Shows the progress of a command until it ends: on a terminal in a line that is redrawn ten times a second, otherwise
 * in a line every five seconds.
 * @param state returns what has been done so far, for people
 */
export function showProgress (
  { name, from, to, quiet }: Task, output: Pick<Output, 'isTTY' | 'columns' | 'write'>, state: () => string
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

  if (!quiet) line(`from ${from}\nto   ${to}`)
  const timer = quiet ? undefined : setInterval(show, output.isTTY ? 100 : 5_000)
  return {
    line,
    end (): void {
      clearInterval(timer)
      if (!quiet) line(`${name}: ${state()}`)
    }
  }
}
