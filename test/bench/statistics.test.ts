import t from 'tap'
import { median, percentiles, ratio, spread } from '../../bench/statistics.js'

t.test('the median is right for odd and even counts in any order, and does not change the input', async t => {
  const values = [3, 1, 2]
  t.equal(median(values), 2)
  t.strictSame(values, [3, 1, 2])
  t.equal(median([4, 1, 3, 2]), 2.5)
  t.ok(Number.isNaN(median([])))
})

t.test('a spread has the lowest and the highest value', async t => {
  t.strictSame(spread([5, 1, 9]), { median: 5, low: 1, high: 9, rounds: 3 })
})

t.test('a ratio is that of the medians, with the spread of the ratios of paired rounds', async t => {
  t.strictSame(ratio([10, 20, 30], [20, 20, 40]), { median: 1, low: 0.5, high: 1, rounds: 3 })
})

t.test('percentiles are values that occurred', async t => {
  const values = Array.from({ length: 1000 }, (_, place) => 1000 - place)
  t.strictSame(percentiles(values), { p50: 500, p99: 990, p999: 999, max: 1000 })
  t.strictSame(percentiles([7]), { p50: 7, p99: 7, p999: 7, max: 7 })
  t.equal(percentiles([]), undefined)
})
