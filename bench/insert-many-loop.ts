import { Long, MongoClient, type CollectionOptions } from 'mongodb'
import { growingIds } from './plant-ids.js'

/**
 * What the MongoDB itself can take from one careful client: batches of 500, unordered, one after the other, with no
 * HTTP in front, as durable as ours: that is MongoDB's own default since 5.0, but not that of every server which speaks
 * its protocol. Run as a process: URL, seconds of warm-up, seconds; prints documents a second.
 */
const DURABLY: CollectionOptions = { writeConcern: { w: 'majority', journal: true } }
const [url = '', warmUp = '1', duration = '2'] = process.argv.slice(2)
const client = await new MongoClient(url).connect()
const plants = client.db().collection<{ _id: Long, name: string, tag: string }>('plants', DURABLY)
const next = growingIds()

const opensAt = performance.now() + Number(warmUp) * 1000
const closesAt = opensAt + Number(duration) * 1000
let documents = 0
let firstAt = 0
let lastAt = 0
for (let now = 0; now < closesAt; now = performance.now()) {
  const batch = Array.from({ length: 500 }, () => ({ _id: Long.fromString(next()), name: 'Monstera deliciosa', tag: 'Araceae' }))
  const { insertedCount } = await plants.insertMany(batch, { ordered: false })
  lastAt = performance.now()
  if (lastAt < opensAt) continue
  // The first batch that ends in the window only starts the clock: it began before it.
  if (firstAt === 0) firstAt = lastAt
  else documents += insertedCount
}
await client.close()
process.send?.({ perSecond: documents / (lastAt - firstAt) * 1000 })
process.disconnect?.()
