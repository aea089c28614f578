import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, promisify } from 'node:util'
import { mongoPlantStore, type CreateOutcome, type NewPlant, type PlantStore } from '../../src/index.js'
import { failureOf, reasonOf, Wrong, type Behaviour, type Server } from './behaviour.js'

// What this service promises, seen through its own store. All these rows share one collection.

const TIMEOUT_MS = 5_000

const IDS = [
  0n, 1n, -1n, 2n ** 31n - 1n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n,
  -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)
]
const TEXTS = [
  '', ' ', 'e\u0301', '\u00e9', '\u{1f33f}', '$name.first', 'a.b', '"quoted"\\', 'line\nbreak', 'x'.repeat(100_000)
]

const EXTREMES: readonly NewPlant[] = [
  ...IDS.map((id): NewPlant => ({ id, name: `plant ${id}` })),
  ...TEXTS.map((text, index): NewPlant => ({ id: BigInt(100 + index), name: text, tag: text }))
]
const PLANTS: readonly NewPlant[] = [
  ...EXTREMES,
  // More in all than a server returns in the first batch of a cursor.
  ...Array.from({ length: 100 }, (_, index): NewPlant => ({ id: BigInt(1_000 + index), name: `fern ${index}` }))
]

export const plantBehaviours: readonly Behaviour[] = [
  { name: 'ready before the first create', observe: server => withStores(server, 1, readiness) },
  { name: 'creates', decides: true, observe: server => withStores(server, 1, creates) },
  { name: 'what is read back', decides: true, observe: readBack },
  { name: '`plant-store export`', decides: true, observe: exportsAll },
  { name: 'the same plants again', decides: true, observe: server => withStores(server, 1, repeats) },
  { name: 'another plant under a taken id', decides: true, observe: server => withStores(server, 1, conflicts) },
  { name: 'nothing of that is changed', decides: true, observe: readBack },
  { name: 'forty plants with one id, by two clients', decides: true, observe: server => withStores(server, 2, races) },
  { name: 'a NUL in a text', observe: server => withStores(server, 1, nul) }
]

type Stores = readonly [PlantStore, PlantStore]

/** Opens the store once or twice, each with a client of its own, as separate processes would. */
async function withStores (
  { url }: Server, count: 1 | 2, use: (...stores: Stores) => Promise<string>
): Promise<string> {
  const first = mongoPlantStore({ url })
  const second = count === 1 ? first : mongoPlantStore({ url })
  try {
    await Promise.all([first.open?.(), second.open?.()])
    return await use(first, second)
  } finally {
    await Promise.all([first.close?.(), second.close?.()])
  }
}

/** Creates plants at once, and returns the outcomes, or why there is none. */
async function outcomesOf (store: PlantStore, plants: readonly NewPlant[]): Promise<string[]> {
  const deadline = performance.now() + TIMEOUT_MS
  const create = (plant: NewPlant): Promise<string> => store.create(plant, deadline).catch(failureOf)
  return Promise.all(plants.map(create))
}

async function expectOutcome (
  store: PlantStore, plants: readonly NewPlant[], expected: CreateOutcome
): Promise<string> {
  const outcomes = await outcomesOf(store, plants)
  const unexpected = outcomes.filter(outcome => outcome !== expected)
  if (unexpected.length === 0) return 'right'
  throw new Wrong(`${unexpected.length} of ${plants.length} are not "${expected}": ${unexpected[0]}`)
}

async function readiness (store: PlantStore): Promise<string> {
  const reason = await store.ready?.().catch(reasonOf)
  return reason === undefined ? 'yes' : `no: ${reason}`
}

const creates = (store: PlantStore): Promise<string> => expectOutcome(store, PLANTS, 'stored')

const repeats = (store: PlantStore): Promise<string> => expectOutcome(store, EXTREMES, 'same')

function conflicts (store: PlantStore): Promise<string> {
  // With a tag, if the plant has none, and without its tag, if it has one.
  const others = EXTREMES.map(({ tag, ...plant }): NewPlant => tag === undefined ? { ...plant, tag: '' } : plant)
  return expectOutcome(store, others, 'taken')
}

async function races (one: PlantStore, another: PlantStore): Promise<string> {
  const plants = Array.from({ length: 40 }, (_, index): NewPlant => ({ id: 7n, name: `Ficus ${index}` }))
  const outcomes = await Promise.all(plants.map(async (plant, index) => {
    const [outcome = ''] = await outcomesOf(index % 2 === 0 ? one : another, [plant])
    return outcome
  }))
  const stored = plants.filter((_plant, index) => outcomes[index] === 'stored')
  const [winner] = stored
  if (winner === undefined || stored.length > 1) throw new Wrong(`${stored.length} of them are stored`)
  const fault = outcomes.find(outcome => outcome !== 'stored' && outcome !== 'taken')
  if (fault !== undefined) throw new Wrong(fault)
  return expectOutcome(one, [winner], 'same')
}

/** All documents, read by the driver alone, are the plants, to the last digit and character. */
async function readBack ({ database }: Server): Promise<string> {
  const documents = await database.collection('plants').find().toArray()
  return comparison(documents.map(({ _id, ...fields }) => ({ id: BigInt(String(_id)), ...fields })))
}

/** What an operator's export writes is the same. */
async function exportsAll ({ url }: Server): Promise<string> {
  const main = fileURLToPath(new URL('../../src/service/main.js', import.meta.url))
  const env = { PATH: process.env.PATH, MONGODB_URL: url }
  const options = { env, maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'export'], options).catch(({ stderr }) => {
    throw new Wrong(String(stderr).trim().split('\n').at(-1))
  })
  const lines = stdout.split('\n').filter(line => line !== '')
  const found = lines.map(line => ({ ...JSON.parse(line), id: BigInt(/"id":(-?\d+)/.exec(line)?.[1] ?? '') }))
  return comparison(found)
}

function comparison (found: ReadonlyArray<{ id: bigint }>): string {
  const byId = new Map(found.map(plant => [plant.id, plant]))
  const missing = PLANTS.filter(plant => !byId.has(plant.id))
  const changed = PLANTS.filter(plant => !missing.includes(plant) && !isDeepStrictEqual(byId.get(plant.id), plant))
  if (missing.length === 0 && changed.length === 0 && found.length === PLANTS.length) return 'right'
  throw new Wrong(
    `${missing.length} of ${PLANTS.length} plants are missing, ${changed.length} changed, ${found.length} found`
  )
}

/** A server that cannot store a NUL may fail every insert that contains one, and so the plants beside it. */
async function nul (store: PlantStore): Promise<string> {
  const others = Array.from({ length: 20 }, (_, index): NewPlant => ({ id: BigInt(2_000 + index), name: 'Fern' }))
  const [outcome, ...beside] = await outcomesOf(store, [{ id: 8n, name: 'nul\0inside' }, ...others])
  const stored = beside.filter(outcome => outcome === 'stored')
  return `${outcome}; ${stored.length} of ${others.length} beside it stored`
}
