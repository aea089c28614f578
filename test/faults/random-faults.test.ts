import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'

t.test('in random sequences of create requests and faults, the stores never contradict the model', async t => {
  // In a process without tap's hooks, which would make it four times as slow. The seed differs each time.
  const script = fileURLToPath(new URL('random-faults.js', import.meta.url))
  const child = spawn('env', ['-i', `PATH=${process.env.PATH}`, process.execPath, script, '--sequences', '200', '--lanes', '12', '--sqlite', '15'])
  let output = ''
  child.stdout.once('data', seed => { t.comment(String(seed).trim()) })
  child.stdout.on('data', text => { output += text })
  child.stderr.on('data', text => { output += text })
  const [code] = await once(child, 'close')
  t.match(output, /^seed \d+\n200 sequences, 0 contradictions\n$/, output)
  t.equal(code, 0)
})
