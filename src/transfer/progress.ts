const MAX_BAR_WIDTH = 30
const MIN_BAR_WIDTH = 8
/** Milliseconds between updates: on a terminal, and otherwise. */
const REDRAW_MS = 100
const NEW_LINE_MS = 5_000

/** The stream to write to: `process.stderr`, or a test's own. */
export interface ProgressOutput {
  isTTY?: boolean
  columns?: number
  write (text: string): unknown
}

export interface ProgressState {
  /** From 0 to 1; undefined if unknown. */
  part: number | undefined
  /** What has been done so far, for people. */
  done: string
}

/** Shows the progress of a command: on a terminal as a bar that fits it, otherwise as a line every five seconds. */
export function showProgress (
  output: ProgressOutput, task: string,
  { quiet, now = () => performance.now() }: { quiet: boolean, now?: () => number }
) {
  let last = now()
  let hasBar = false

  function show ({ part, done }: ProgressState): void {
    const text = part === undefined ? done : `${Math.floor(part * 100)} %, ${done}`
    hasBar = output.isTTY === true
    output.write(hasBar ? `\r${fitted(task, part, text, output.columns || 80)}\x1b[K` : `${task}: ${text}\n`)
  }

  return {
    /** Shows the state if an update is due; only then is `state` called. */
    update (state: () => ProgressState): void {
      if (quiet || now() - last < (output.isTTY ? REDRAW_MS : NEW_LINE_MS)) return
      last = now()
      show(state())
    },
    /** Shows the last state, and ends the line. */
    end (state: ProgressState): void {
      if (quiet) return
      show(state)
      if (hasBar) output.write('\n')
      hasBar = false
    },
    /** Clears the bar. */
    clear (): void {
      if (hasBar) output.write('\r\x1b[K')
      hasBar = false
    },
    /** Writes a line above the bar, even with `--quiet`. */
    line (text: string): void {
      output.write(`${hasBar ? '\r\x1b[K' : ''}${text}\n`)
    }
  }
}

/** Formats a line that leaves the last column free, after which some terminals wrap. */
function fitted (task: string, part: number | undefined, text: string, columns: number): string {
  const room = columns - 1
  const width = Math.min(MAX_BAR_WIDTH, room - `${task} [] ${text}`.length)
  if (part === undefined || width < MIN_BAR_WIDTH) return `${task} ${text}`.slice(0, room)
  const full = Math.floor(part * width)
  return `${task} [${'#'.repeat(full)}${'-'.repeat(width - full)}] ${text}`
}
