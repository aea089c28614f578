import t from 'tap'
import { readOptions, WrongOption } from '../../bench/options.js'
import { plan } from '../../bench/plan.js'
import { specKey } from '../../bench/spec.js'
import { targets, targetSpecs } from '../../bench/targets.js'

const planned = (...words: string[]): string[] => plan(readOptions(words)).map(specKey)

t.test('without options: every server once, and open loops at half rate', async (t) => {
  const keys = planned()
  t.ok(keys.includes('closed bare create c64 growing'))
  t.ok(keys.includes('closed ours-mongodb create c64 growing mongodb=scripted'))
  t.ok(keys.includes('open ours-sqlite create c64 growing 50%'))
})

t.test('cases, servers, connections and rates multiply', async (t) => {
  t.strictSame(planned('--case', 'create,invalid', '--servers', 'bare', '--connections', '1,512', '--rate', '1000,25%').length, 2 * 2 * 3)
})

t.test('growth and distance', async (t) => {
  t.strictSame(planned('--case', 'growth', '--plants', '1000').map((key) => key.split('plants=')[1]), ['0', '10', '100', '1000'])
  t.strictSame(planned('--case', 'distance', '--distances', '0,20', '--servers', 'ours-mongodb'), [
    'closed ours-mongodb create c512 growing distance=0ms mongodb=scripted',
    'closed ours-mongodb create c512 growing distance=20ms mongodb=scripted'
  ])
})

t.test('--url measures that service alone', async (t) => {
  t.strictSame(planned('--url', 'http://127.0.0.1:1', '--token', 'x'), ['closed url create c64 growing'])
})

t.test('--targets alone means all rows, and --env may be repeated', async (t) => {
  t.strictSame(readOptions(['--targets']).targets, ['all'])
  t.strictSame(readOptions(['--targets', '--pin']).targets, ['all'])
  t.strictSame(readOptions(['--targets', 'p99,start']).targets, ['p99', 'start'])
  t.strictSame(readOptions(['--env', 'WORKERS=2', '--env', 'QUEUE_LIMIT=9']).environment, { WORKERS: '2', QUEUE_LIMIT: '9' })
})

t.test('the closed loop that an open loop takes its rate from is measured before it', async (t) => {
  const keys = targetSpecs(targets(1000), false).map(specKey)
  const open = keys.indexOf('open ours-sqlite create c64 growing 50%')
  t.equal(keys[open - 1], 'closed ours-sqlite create c64 growing', 'right behind the loop that finds its rate')
  t.equal(new Set(keys).size, keys.length)
  t.notOk(keys.some((key) => key.includes('given')))
})

t.test('wrong options are told by name', async (t) => {
  for (const words of [['--case', 'nonsense'], ['--servers', 'nginx'], ['--connections', '0'], ['--rounds', '1.5'], ['--rate', 'x'],
    ['--url', 'http://127.0.0.1:1'], ['--url', 'nowhere', '--token', 'x'], ['--env', 'x'], ['--generator', 'wrk'], ['--unknown'],
    ['--url', 'http://127.0.0.1:1', '--token', 'x', '--case', 'growth']]) {
    t.throws(() => readOptions(words), WrongOption, words.join(' '))
  }
})
