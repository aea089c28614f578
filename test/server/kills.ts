import { setTimeout as sleep } from 'node:timers/promises'
import { mongoPlantStore, type NewPlant, type PlantStore } from '../../src/index.js'
import { find, Wrong, type Behaviour, type Server } from './behaviour.js'
import type { StartedServer } from './started-server.js'

const CLIENTS = 8
const KILLS = 5
const CREATE_TIMEOUT_MS = 10_000
/** From a start to the next kill, at least and at most. */
const SHORTEST_LIFE_MS = 1_000
const LONGEST_LIFE_MS = 5_000

const NAME = 'plant of a kill'

/** What became of the creates, by id. */
interface Outcomes { acknowledged: bigint[], notStored: bigint[], unknown: bigint[] }

/** Kills the server while clients create, and compares what was acknowledged with what is stored. */
export function killBehaviours (started: StartedServer, note: (progress: string) => void): Behaviour[] {
  return [{
    name: `kill -9, ${KILLS} times, while ${CLIENTS} clients create`,
    decides: true,
    observe: async server => compare(server, await createAndKill(server, started, note))
  }]
}

async function createAndKill (server: Server, started: StartedServer, note: (progress: string) => void) {
  const outcomes: Outcomes = { acknowledged: [], notStored: [], unknown: [] }
  const end = new AbortController()
  const stores = Array.from({ length: CLIENTS }, () => mongoPlantStore({ url: server.url }))
  const clients = Promise.all(stores.map((store, client) => createUntil(end.signal, store, client, outcomes)))
  // It is awaited only when the kills are over.
  clients.catch(() => {})
  try {
    for (let kills = 1; kills <= KILLS; kills++) {
      await sleep(SHORTEST_LIFE_MS + Math.random() * (LONGEST_LIFE_MS - SHORTEST_LIFE_MS))
      await started.kill()
      note(`killed ${kills} of ${KILLS} times, ${outcomes.acknowledged.length} plants acknowledged`)
      await started.start()
    }
    await sleep(SHORTEST_LIFE_MS)
  } finally {
    end.abort()
    await clients
    await Promise.all(stores.map(store => store.close?.()))
  }
  return outcomes
}

async function createUntil (end: AbortSignal, store: PlantStore, client: number, outcomes: Outcomes): Promise<void> {
  // No other row has these ids.
  for (let id = BigInt(client - CLIENTS) << 40n; !end.aborted; id++) {
    const plant: NewPlant = { id, name: NAME }
    const outcome = await store.create(plant, performance.now() + CREATE_TIMEOUT_MS).catch(nameOf)
    if (outcome === 'stored' || outcome === 'same') outcomes.acknowledged.push(id)
    else if (outcome === 'PlantNotStored') outcomes.notStored.push(id)
    else if (outcome === 'PlantOutcomeUnknown') outcomes.unknown.push(id)
    else throw new Wrong(`a plant that one client creates once: ${outcome}`)
  }
}

function nameOf ({ name }: Error): string {
  return name
}

async function compare ({ database }: Server, { acknowledged, notStored, unknown }: Outcomes): Promise<string> {
  const documents = await find(database, 'plants', { filter: { name: NAME } })
  const stored = new Set(documents.map(({ _id }) => BigInt(String(_id))))
  const lost = acknowledged.filter(id => !stored.has(id)).length
  const denied = notStored.filter(id => stored.has(id)).length
  const unknownStored = unknown.filter(id => stored.has(id)).length
  const text = `${acknowledged.length} acknowledged, ${lost === 0 ? 'none' : lost} lost; ` +
    `${unknown.length} unknown, ${unknownStored} of them stored; ${notStored.length} not stored`
  if (acknowledged.length === 0) throw new Wrong(`nothing was acknowledged: ${text}`)
  if (denied > 0) throw new Wrong(`${text}, but ${denied} of these are stored`)
  if (lost > 0) throw new Wrong(text)
  return text
}
