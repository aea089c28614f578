export interface Progress { step: (text: string) => void, line: (text: string) => void }

/** One line that is written over on a terminal; elsewhere (a CI's log) plain lines. */
export function progress (out: NodeJS.WriteStream = process.stderr, total = 0): Progress {
  let done = 0
  const started = Date.now()
  return {
    step (text) {
      const count = total > 0 ? `${String(++done).padStart(String(total).length)}/${total} ` : ''
      const left = total > 0 && done > 3 ? `, ${Math.ceil((Date.now() - started) / 1000 / (done - 1) * (total - done + 1))} s left` : ''
      if (out.isTTY) out.write(`\r\u001b[K${`${count}${text}${left}`.slice(0, out.columns - 1)}`)
      else out.write(`${count}${text}\n`)
    },
    line (text) {
      out.write(`${out.isTTY ? '\r\u001b[K' : ''}${text}${text === '' ? '' : '\n'}`)
    }
  }
}
