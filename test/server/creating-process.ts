// A process that creates the plants that its parent names, in that order, in the collection of a URL.
import { mongoPlantStore, type NewPlant } from '../../src/index.js'
import { failureOf } from './behaviour.js'
import type { Order, Outcomes } from './opposite-orders.js'

const TIMEOUT_MS = 5_000

const store = mongoPlantStore({ url: process.argv[2] ?? '' })
await store.open?.()

process.on('message', async ({ ids }: Order) => {
  const deadline = performance.now() + TIMEOUT_MS
  const create = (plant: NewPlant): Promise<string> => store.create(plant, deadline).catch(failureOf)
  const outcomes = await Promise.all(ids.map(id => create({ id: BigInt(id), name: 'Ficus' })))
  process.send?.({ outcomes } satisfies Outcomes)
})
// The parent has ended.
process.on('disconnect', () => process.exit())
process.send?.('ready')
