// Creates plants one at a time in several stores of this process, 25 in each in turn, and prints the median time of
// each turn as JSON: `node one-create-process.js ALTERNATION`, as JSON.
import { join } from 'node:path'
import { growingIds } from '../load/requests.js'
import { median } from '../report/figures.js'
import { groupCommit } from '../servers/stores/group-commit.js'
import { sqliteThread } from '../servers/stores/sqlite.js'
import type { Alternation } from './steps.js'

type Create = () => Promise<unknown>

const CREATES = 25
const TURNS = 8 // for one of the alternation, which is 0.1 s

const { servers, folder, warmUps, turns }: Alternation = JSON.parse(process.argv[2] ?? '')
const nextId = growingIds()
const name = 'Monstera deliciosa'
const tag = 'Araceae'

const creates: Create[] = []
for (const server of servers) creates.push(await openStore(server))
const times: number[][] = servers.map(() => [])
for (let turn = 0; turn < (warmUps + turns) * TURNS; turn++) {
  for (const [index, create] of creates.entries()) {
    const time = await medianOf(create)
    if (turn >= warmUps * TURNS) times[index]?.push(time)
  }
}
console.log(JSON.stringify(times))
process.exit()

/** @param server `group-sqlite`, or the URL of a library of plant-store */
async function openStore (server: string): Promise<Create> {
  const path = join(folder, `plants-${creates.length}.db`)
  if (!server.startsWith('file:')) {
    const insert = groupCommit(sqliteThread(path), 1)
    return async () => await insert({ id: Number(nextId()), name, tag })
  }
  const { sqlitePlantStore }: typeof import('../../src/index.js') = await import(server)
  const store = sqlitePlantStore({ path })
  await store.open?.()
  return async () => await store.create({ id: BigInt(nextId()), name, tag }, performance.now() + 10_000)
}

/** The µs of a create in one turn. */
async function medianOf (create: Create): Promise<number> {
  const found: number[] = []
  while (found.length < CREATES) {
    const begin = performance.now()
    const outcome = await create()
    found.push((performance.now() - begin) * 1000)
    if (outcome !== true && outcome !== 'stored') throw new Error(`a new plant was not stored: ${String(outcome)}`)
  }
  return median(found) ?? NaN
}
