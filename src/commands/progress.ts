/** Milliseconds between updates: on a terminal, and otherwise. */
const REDRAW_MS = 100
const NEW_LINE_MS = 5_000

/**
 * Shows the progress of a command until it ends: on a terminal in one line that is redrawn, otherwise as a line every
 * five seconds.
 * @param output `process.stderr`, or a test's own
 * @param state returns what has been done so far, for people
 */
export function showProgress (
  output: Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>, task: string, quiet: boolean, state: () => string
) {
  const timer = quiet ? undefined : setInterval(show, output.isTTY ? REDRAW_MS : NEW_LINE_MS)

  function show (): void {
    const text = `${task}: ${state()}`
    // The last column is left free: some terminals wrap after it.
    output.write(output.isTTY ? `\r${text.slice(0, (output.columns || 80) - 1)}\x1b[K` : `${text}\n`)
  }

  return {
    /** Writes a line above the progress, even with `--quiet`. */
    line (text: string): void {
      output.write(`${output.isTTY ? '\r\x1b[K' : ''}${text}\n`)
    },
    /** Shows the last state, and ends the line. */
    end (): void {
      clearInterval(timer)
      if (quiet) return
      show()
      if (output.isTTY) output.write('\n')
    }
  }
}
