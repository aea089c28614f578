import t from 'tap'
import { Pace } from '../../src/stores/pace.js'

/** A pace that has seen so many creates at once, and a batch that took so many milliseconds. */
function seen (crowd: number, milliseconds: number): Pace {
  const pace = new Pace()
  pace.sent(crowd)
  pace.returned(1, milliseconds)
  return pace
}

t.test('of a crowd half is enough for a batch', async t => {
  t.equal(new Pace().enough, 0.5, 'one alone goes at once')
  t.equal(seen(64, 1).enough, 32)
  t.equal(seen(400, 1).enough, 200)
})

t.test('the further away the store, the smaller the part, but for those that are cheap', async t => {
  t.equal(seen(900, 3).enough, 300)
  t.equal(seen(900, 10).enough, 90)
  t.equal(seen(900, 100).enough, 64)
  t.equal(seen(100, 100).enough, 50, 'half of the crowd is enough')
})

t.test('the shortest of the last batches tells the distance, and it is forgotten slowly', async t => {
  const pace = seen(900, 3)
  pace.returned(1, 50)
  t.ok(pace.enough < 300 && pace.enough > 280)
  for (let i = 0; i < 300; i++) pace.returned(1, 10)
  t.equal(pace.enough, 90)
})

t.test('a crowd is forgotten slowly', async t => {
  const pace = seen(100, 1)
  pace.sent(10)
  t.equal(pace.enough, 49)
  for (let i = 0; i < 300; i++) pace.sent(10)
  t.equal(pace.enough, 5)
})

t.test('no more than a full batch is enough', async t => {
  t.equal(seen(5_000, 1).enough, 500)
})

t.test('a full batch that is short doubles the limit', async t => {
  const pace = new Pace()
  t.equal(pace.limit, 500)
  pace.returned(499, 10)
  t.equal(pace.limit, 500, 'it was not full')
  pace.returned(500, 100)
  t.equal(pace.limit, 500, 'it was not short')
  pace.returned(500, 99)
  t.equal(pace.limit, 1_000)
})

t.test('a batch that takes long halves the limit, or what was in it', async t => {
  const pace = new Pace()
  pace.returned(500, 400)
  t.equal(pace.limit, 500, 'not yet long')
  pace.returned(500, 401)
  t.equal(pace.limit, 250)
  pace.returned(100, 401)
  t.equal(pace.limit, 50)
  pace.returned(4, 401)
  t.equal(pace.limit, 32)
})
