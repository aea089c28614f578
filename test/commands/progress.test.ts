import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { showProgress } from '../../src/commands/progress.js'

class Output {
  text = ''
  constructor (readonly isTTY: boolean, public columns = 80) {}
  write (text: string): void {
    this.text += text
  }
}

const state = () => '50 %, 1,500,000 plants, 100,000 a second'

function controlInterval (t: Test): void {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
}

t.test('on a terminal the line adapts to the width, and leaves the last column free', async t => {
  controlInterval(t)
  for (const columns of [200, 80, 20, 5, 0]) {
    const output = new Output(true, columns)
    showProgress(output, 'migrate', false, state).end()
    t.equal(output.text, `\r${`migrate: ${state()}`.slice(0, (columns || 80) - 1)}\x1b[K\n`)
  }
})

t.test('on a terminal progress is redrawn ten times a second until it ends, and other lines are printed above it', async t => {
  controlInterval(t)
  const output = new Output(true)
  const progress = showProgress(output, 'import', false, state)
  mock.timers.tick(1_000)
  t.equal(output.text.split('\r').length - 1, 10)
  output.text = ''
  progress.line('line 7: bad')
  t.equal(output.text, '\r\x1b[Kline 7: bad\n')
  progress.end()
  output.text = ''
  mock.timers.tick(1_000)
  t.equal(output.text, '')
})

t.test('to a pipe a line is written every five seconds, and one at the end', async t => {
  controlInterval(t)
  const output = new Output(false)
  const progress = showProgress(output, 'export', false, state)
  mock.timers.tick(11_000)
  progress.line('id 7: bad')
  progress.end()
  t.equal(output.text, `${`export: ${state()}\n`.repeat(2)}id 7: bad\nexport: ${state()}\n`)
})
