import t from 'tap'
import { BatchSizer } from '../../../src/stores/batching/batch-sizer.js'

/** A sizer after a given number of outstanding requests and one batch of a given duration. */
function seen (outstanding: number, milliseconds: number): BatchSizer {
  const sizer = new BatchSizer()
  sizer.sent(outstanding, 0)
  sizer.written(milliseconds)
  return sizer
}

t.test('half of the outstanding requests are worth a batch', async t => {
  t.equal(new BatchSizer().worthSending, 0.5, 'a single request is sent immediately')
  t.equal(seen(64, 1).worthSending, 32)
  t.equal(seen(400, 1).worthSending, 200)
})

t.test('the more distant the store, the smaller the batches, as long as they are efficient', async t => {
  t.equal(seen(900, 3).worthSending, 300)
  t.equal(seen(900, 10).worthSending, 90)
  t.equal(seen(900, 100).worthSending, 64)
  t.equal(seen(100, 100).worthSending, 50, 'half of the outstanding requests are enough')
})

t.test('the fastest recent batch gives the distance, and is forgotten slowly', async t => {
  const sizer = seen(900, 3)
  sizer.written(50)
  t.ok(sizer.worthSending < 300 && sizer.worthSending > 280)
  for (let i = 0; i < 300; i++) sizer.written(10)
  t.equal(sizer.worthSending, 90)
})

t.test('a peak falls to half in a quarter of a second, however many batches are sent', async t => {
  const sizer = seen(100, 1)
  for (let now = 0; now <= 250; now++) sizer.sent(10, now)
  t.equal(Math.round(sizer.worthSending), 25)
  sizer.sent(10, 10_000)
  t.equal(sizer.worthSending, 5)
})

t.test('a full batch is always worth sending', async t => {
  t.equal(seen(5_000, 1).worthSending, 1_000)
})
