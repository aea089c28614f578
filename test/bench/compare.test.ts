import t from 'tap'
import { compare } from '../../bench/compare.js'
import type { Results } from '../../bench/results.js'
import type { Measurement, Spec } from '../../bench/spec.js'

const closed: Spec = { kind: 'closed', server: 'ours-sqlite', caseName: 'create', connections: 64, order: 'growing' }
const percentiles = { p50: 1, p90: 1, p99: 1, p999: 1, p9999: 1, max: 1 }

function run (...measurements: Array<[Spec, number[]]>): Results {
  return {
    name: 'a run',
    date: '2026-01-01T00:00:00Z',
    machine: { processor: '', cores: 2, memory: '', system: '', node: '', disk: '', commit: '', text: '' },
    options: {},
    measurements: measurements.map(([spec, values]): Measurement => ({
      spec,
      rounds: values.map((value) => spec.kind === 'open'
        ? { perSecond: 1, latency: { ...percentiles, p99: value } }
        : { perSecond: value })
    }))
  }
}
const verdicts = (before: Results, now: Results): string[] => compare(before, now).map(({ verdict }) => verdict)

t.test('a drop beyond the noise is worse, a rise better', async (t) => {
  t.strictSame(verdicts(run([closed, [100, 101, 99]]), run([closed, [80, 81, 79]])), ['worse'])
  t.strictSame(verdicts(run([closed, [80, 81, 79]]), run([closed, [100, 101, 99]])), ['better'])
})

t.test('a drop within the noise is none', async (t) => {
  t.strictSame(verdicts(run([closed, [100, 75, 120]]), run([closed, [80, 81, 79]])), ['same'], 'the rounds overlap')
  t.strictSame(verdicts(run([closed, [100, 100.1, 100.2]]), run([closed, [97, 97.1, 97.2]])), ['same'], 'apart, but hardly')
})

t.test('fewer than three rounds show no noise: only a big drop counts', async (t) => {
  t.strictSame(verdicts(run([closed, [100]]), run([closed, [90]])), ['same'])
  t.strictSame(verdicts(run([closed, [100]]), run([closed, [70]])), ['worse'])
})

t.test('a slower machine is no regression where bare node:http was measured too', async (t) => {
  const bare: Spec = { ...closed, server: 'bare' }
  const before = run([bare, [100, 101, 99]], [closed, [80, 81, 79]])
  t.strictSame(verdicts(before, run([bare, [50, 50.5, 49.5]], [closed, [40, 40.5, 39.5]])), ['same'])
  t.strictSame(verdicts(before, run([bare, [100, 101, 99]], [closed, [60, 61, 59]])), ['worse'])
})

t.test('a higher p99 of an open loop is worse', async (t) => {
  const open: Spec = { ...closed, kind: 'open', rate: { share: 0.5 } }
  t.strictSame(verdicts(run([open, [1000, 1010, 990]]), run([open, [2000, 2010, 1990]])), ['worse'])
  t.strictSame(verdicts(run([open, [2000, 2010, 1990]]), run([open, [1000, 1010, 990]])), ['better'])
})

t.test('what only one run measured is passed over', async (t) => {
  t.strictSame(verdicts(run([closed, [100]]), run([{ ...closed, connections: 512 }, [1]])), [])
})
