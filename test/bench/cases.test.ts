import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { main } from '../../bench/main.js'

t.test('filled stores, single creates and starts are measured, and no folder of the machine is saved', async t => {
  const folder = t.testdir()
  const short = ['--rounds', '1', '--warm-up', '0.1', '--seconds', '0.2']
  const servers = `ours-sqlite@${process.execPath},group-sqlite,json-server`
  const words = ['--case', 'stored,one-create,start', '--stored', '10,500', '--servers', servers]
  const printed = t.capture(console, 'log')
  const failed = t.capture(console, 'error')
  t.capture(process.stderr, 'write', () => true)
  const code = await main([...words, ...short, '--save', folder])
  t.equal(code, 0, String(failed()[0]?.args))
  const out = printed().map(({ args }) => String(args[0])).join('\n')
  t.match(out, /stored: [^]*one-create: [^]*first ÷ it[^]*start: /)
  const saved = readFileSync(join(folder, 'results.json'), 'utf8')
  t.notMatch(saved, process.execPath)
  t.match(JSON.parse(saved).command, 'ours-sqlite@node,group-sqlite,json-server')
  for (const { spec, label, rounds } of JSON.parse(saved).measurements) {
    for (const round of rounds) t.ok((round.price ?? round.perSecond ?? round.p50) > 0, `${spec.case} ${label}`)
  }
})
