import t from 'tap'
import { latencyHistogram } from '../../bench/latency-histogram.js'
import { median, ratio, spread } from '../../bench/statistics.js'

t.test('the median of odd and even counts, whatever the order, the input untouched', async (t) => {
  const values = [3, 1, 2]
  t.equal(median(values), 2)
  t.strictSame(values, [3, 1, 2])
  t.equal(median([4, 1, 3, 2]), 2.5)
  t.equal(median([10, 9]), 9.5)
  t.ok(Number.isNaN(median([])))
})

t.test('the spread is the lowest and the highest', async (t) => {
  t.strictSame(spread([5, 1, 9]), { median: 5, low: 1, high: 9, rounds: 3 })
})

t.test('a ratio is of the medians, its spread of the rounds in pairs', async (t) => {
  t.strictSame(ratio([10, 20, 30], [20, 20, 40]), { median: 1, low: 0.5, high: 1, rounds: 3 })
})

t.test('latencies keep microseconds and the far percentiles', async (t) => {
  const histogram = latencyHistogram()
  for (let turn = 0; turn < 99_900; turn++) histogram.record(0.123)
  for (let turn = 0; turn < 100; turn++) histogram.record(50)
  const { p50, p99, p999, p9999, max } = histogram.percentiles()
  t.equal(p50, 123)
  t.equal(p99, 123)
  t.equal(p999, 123)
  t.ok(Math.abs(p9999 - 50_000) < 50, `${p9999}`)
  t.ok(Math.abs(max - 50_000) < 50, `${max}`)
})
