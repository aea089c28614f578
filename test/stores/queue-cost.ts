import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { BatchedPlantStore } from '../../src/stores/batching/batched-plant-store.js'
import type { StoreWriter } from '../../src/stores/batching/store-writer.js'
import type { NewPlant } from '../../src/plant.js'
import { PlantNotStored } from '../../src/stores/store.js'

// Prints the processor time that a plant takes in the queue, in microseconds of user mode, for each number of plants
// that are pending at once; and the share of a processor that 50,000 plants take while the store fails. Run it with
// --max-semi-space-size=256, so that the garbage collector's part is small:
//   node --max-semi-space-size=256 build/test/stores/queue-cost.js 64 1000 10000 100000 300000

const DEADLINE_MS = 60_000

type Results = Awaited<ReturnType<StoreWriter['write']>>

function storeThat (respond: (plants: readonly NewPlant[]) => Results): BatchedPlantStore {
  const write: StoreWriter['write'] = async plants => {
    await turn()
    return respond(plants)
  }
  return new BatchedPlantStore({ maxInFlight: 1, write, check: async () => {}, close: async () => {} })
}

/** @param longer how much later the deadline of the first is than those of the others, in milliseconds */
function createMany (store: BatchedPlantStore, count: number, longer = 0): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, (_, id) => {
    const deadline = performance.now() + DEADLINE_MS + (id === 0 ? longer : 0)
    return store.create({ id: BigInt(id), name: 'Monstera deliciosa', tag: 'aroid' }, deadline)
  }))
}

/** The median of five rounds. */
async function costOfAPlant (pending: number, longer = 0): Promise<number> {
  const costs: number[] = []
  for (let round = 0; round < 5; round++) {
    const store = storeThat(plants => plants.map(() => 'stored'))
    const before = process.cpuUsage()
    const count = Math.max(pending, 50_000)
    for (let created = 0; created < count; created += pending) await createMany(store, pending, longer)
    costs.push(process.cpuUsage(before).user / count)
    await store.close()
  }
  return costs.sort((one, other) => one - other)[2] ?? NaN
}

async function shareInAnOutage (): Promise<number> {
  const store = storeThat(() => new PlantNotStored('away'))
  createMany(store, 50_000).catch(() => {})
  await sleep(500)
  const before = process.cpuUsage()
  const start = performance.now()
  await sleep(1_000)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / (performance.now() - start)
}

const counts = process.argv.slice(2).map(Number)
await costOfAPlant(1_000)
const costs: Record<number, number> = {}
for (const count of counts) costs[count] = await costOfAPlant(count)
const outOfOrder = await costOfAPlant(Math.max(...counts), 1_000)
console.log(JSON.stringify({ costs, outOfOrder, shareInAnOutage: await shareInAnOutage() }))
process.exit()
