import { fork, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { mongoPlantStore } from '../../src/index.js'
import { Wrong, type Behaviour, type Server } from './behaviour.js'

const ROUNDS = 3
const PLANTS = 500
/** Every so many is stored before. */
const STORED_BEFORE = 10

/** What a child process is told, and answers. */
export interface Order { ids: string[] }
export interface Outcomes { outcomes: string[] }

export const orderBehaviours: readonly Behaviour[] = [
  { name: 'two processes create in opposite orders', decides: true, observe: oppositeOrders }
]

async function oppositeOrders ({ url }: Server): Promise<string> {
  const program = fileURLToPath(new URL('creating-process.js', import.meta.url))
  const processes = [fork(program, [url]), fork(program, [url])] as const
  try {
    const isEnd = Promise.race(processes.map(child => once(child, 'exit')))
    const ended = isEnd.then(() => { throw new Wrong('one of the processes ended') })
    ended.catch(() => {})
    await Promise.race([Promise.all(processes.map(child => once(child, 'message'))), ended])
    for (let round = 0; round < ROUNDS; round++) await Promise.race([playRound(url, processes), ended])
  } finally {
    for (const child of processes) child.kill('SIGKILL')
  }
  return `right, ${ROUNDS} times ${PLANTS} plants`
}

async function playRound (url: string, [one, another]: readonly [ChildProcess, ChildProcess]): Promise<void> {
  const start = BigInt(randomInt(2 ** 40)) << 20n
  const ids = Array.from({ length: PLANTS }, (_, index) => String(start + BigInt(index)))
  await storeSome(url, ids)
  const [forwards, backwards] = await Promise.all([
    outcomesOf(one, ids), outcomesOf(another, ids.toReversed()).then(outcomes => outcomes.toReversed())
  ])
  const pairs = ids.map((_id, index) => [forwards[index], backwards[index]].toSorted().join(' and '))
  const unexpected = pairs.filter((pair, index) => {
    return pair !== (index % STORED_BEFORE === 0 ? 'same and same' : 'same and stored')
  })
  if (unexpected.length > 0) throw new Wrong(`${unexpected.length} of ${PLANTS} plants: ${unexpected[0]}`)
}

async function storeSome (url: string, ids: readonly string[]): Promise<void> {
  const store = mongoPlantStore({ url })
  const some = ids.filter((_id, index) => index % STORED_BEFORE === 0)
  await Promise.all(some.map(id => store.create({ id: BigInt(id), name: 'Ficus' }, performance.now() + 10_000)))
  await store.close?.()
}

async function outcomesOf (child: ChildProcess, ids: string[]): Promise<string[]> {
  child.send({ ids } satisfies Order)
  const [{ outcomes }] = await once(child, 'message') as [Outcomes]
  return outcomes
}
