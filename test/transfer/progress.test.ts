import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { showProgress } from '../../src/transfer/progress.js'
import { needsProgram } from '../support/process/needs.js'
import { testFolder } from '../support/process/program.js'
import { program } from '../support/process/project.js'
import { fill, manyPlants } from './plants.js'

class Output {
  text = ''
  constructor (readonly isTTY: boolean, public columns = 80) {}
  write (text: string): void {
    this.text += text
  }
}

const state = { part: 0.5, done: '1,500,000 plants, 100,000 a second' }

t.test('on a terminal the line adapts to the width, and leaves the last column free', async t => {
  for (const columns of [200, 100, 80, 79, 60, 50, 20, 5]) {
    const output = new Output(true, columns)
    const progress = showProgress(output, 'migrate', { quiet: false })
    progress.end(state)
    const shown = output.text.replace(/^\r|\x1b\[K\n$/g, '') // eslint-disable-line no-control-regex
    t.ok(shown.length < columns, shown)
    const full = `migrate 50 %, ${state.done}`
    if (columns < 80) t.ok(full.startsWith(shown.replace(/\[#+-+\] /, '')), shown)
    else t.equal(shown.replace(/ \[(#+)-+\]/, ''), full, 'the bar is half full')
  }
  const unknown = new Output(true, 0)
  showProgress(unknown, 'import', { quiet: false }).end({ ...state, part: undefined })
  t.equal(unknown.text, `\rimport ${state.done}\x1b[K\n`, 'unknown width: 80 columns are assumed; unknown total: there is no bar')
})

t.test('on a terminal progress is redrawn at most ten times a second, and other lines are printed above it', async t => {
  let now = 0
  const output = new Output(true)
  const progress = showProgress(output, 'import', { quiet: false, now: () => now })
  for (now = 0; now < 1_000; now += 10) progress.update(() => state)
  t.equal(output.text.split('\r').length - 1, 9)
  output.text = ''
  progress.line('line 7: bad')
  t.equal(output.text, '\r\x1b[Kline 7: bad\n')
  output.text = ''
  progress.clear()
  progress.clear()
  t.equal(output.text, '\r\x1b[K', 'the bar is cleared once')
})

t.test('to a pipe a line is written every five seconds, and one at the end', async t => {
  let now = 0
  const output = new Output(false)
  const progress = showProgress(output, 'export', { quiet: false, now: () => now })
  for (now = 0; now < 11_000; now += 100) progress.update(() => state)
  progress.line('id 7: bad')
  progress.end({ ...state, part: 1 })
  t.equal(output.text, `${`export: 50 %, ${state.done}\n`.repeat(2)}id 7: bad\nexport: 100 %, ${state.done}\n`)
})

t.test('with --quiet, no progress is written, but other lines are', async t => {
  let now = 0
  const output = new Output(true)
  const progress = showProgress(output, 'export', { quiet: true, now: () => now })
  for (now = 0; now < 1_000; now += 100) progress.update(() => state)
  progress.line('id 7: bad')
  progress.end(state)
  t.equal(output.text, 'id 7: bad\n')
})

t.test('on a terminal of 60 columns no line wraps', needsProgram('script', 'bsdutils'), async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(2_000))
  const command = `stty cols 60; '${process.execPath}' '${program}' export plants.ndjson`
  const child = spawn('script', ['-qec', command, '/dev/null'], { env: { PATH: process.env['PATH'], DATA_DIR: '.' }, cwd: folder })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', chunk => { text += chunk })
  await once(child, 'close')
  t.match(text, /export \[#+\] 100 %, 2,000 plants/)
  const drawn = text.split(/[\r\n]/).filter(line => line.startsWith('export ')).map(line => line.replace('\x1b[K', ''))
  t.strictSame(drawn.filter(line => line.length >= 60), [])
})
