import { BatchedPlantStore } from '../../../src/stores/batching/batched-plant-store.js'
import type { CreateError, StoreWriter, WriteResult } from '../../../src/stores/batching/store-writer.js'
import { PlantNotStored, type NewPlant } from '../../../src/plant-store.js'
import { VirtualClock } from '../virtual-clock.js'

type Results = readonly WriteResult[] | WriteResult

interface WrittenBatch {
  readonly ids: readonly number[]
  readonly deadline: number
  readonly earliestDeadline: number
  /** When it was written. */
  readonly at: number
  /** Completes the write, with a result for each plant or one for all. */
  readonly answer: (results: Results) => void
}

/** A writer whose batches wait for the test to answer them; if `respond` is set, each gets its results immediately. */
export class FakeWriter implements StoreWriter {
  readonly batches: WrittenBatch[] = []
  respond: ((ids: readonly number[], number: number) => Results) | undefined
  /** What checks reject with. */
  fault: Error | undefined
  /** For each check, whether it was thorough. */
  readonly checks: boolean[] = []

  constructor (readonly clock: VirtualClock, readonly maxInFlight: number) {}

  write (
    plants: readonly NewPlant[], deadline: number, earliestDeadline: number
  ): Promise<readonly WriteResult[] | CreateError> {
    return new Promise(resolve => {
      const ids = plants.map(({ id }) => Number(id))
      const answer: WrittenBatch['answer'] = results => resolve(typeof results === 'string' ? ids.map(() => results) : results)
      const number = this.batches.push({ ids, deadline, earliestDeadline, at: this.clock.now(), answer })
      if (this.respond !== undefined) answer(this.respond(ids, number))
    })
  }

  async check (thoroughly: boolean): Promise<void> {
    this.checks.push(thoroughly)
    if (this.fault !== undefined) throw this.fault
  }

  async close (): Promise<void> {}

  get ids (): (readonly number[])[] {
    return this.batches.map(({ ids }) => ids)
  }

  /** Completes the latest batch. */
  answer (results: Results): void {
    this.batches.at(-1)?.answer(results)
  }
}

/** A store whose clock and writer are controlled by the test. */
export function batchedStore (maxInFlight = 1, random = () => 1) {
  const clock = new VirtualClock()
  const writer = new FakeWriter(clock, maxInFlight)
  const store = new BatchedPlantStore(writer, clock, random)
  const outcomes = new Map<number, string | Error>()

  /** Creates plants; `outcomes` collects each outcome, or its error, by id. */
  function create (ids: readonly number[], timeoutMs = 5_000, name?: string): void {
    for (const id of ids) {
      store.create({ id: BigInt(id), name: name ?? `plant ${id}` }, clock.now() + timeoutMs)
        .catch((error: Error) => error)
        .then(outcome => { outcomes.set(id, outcome) })
    }
  }

  /** Like `create`, but resolves when nothing more is due now. */
  async function created (...args: Parameters<typeof create>): Promise<void> {
    create(...args)
    await clock.turns()
  }

  /** Completes the latest batch, and resolves when nothing more is due now. */
  async function answered (results: Results): Promise<void> {
    writer.answer(results)
    await clock.turns()
  }

  return { clock, writer, store, outcomes, create, created, answered }
}

export function notStored (message = 'away', permanent = false): PlantNotStored {
  return new PlantNotStored(message, { permanent })
}

/** Consecutive numbers, from 1 by default. */
export function numbers (count: number, first = 1): number[] {
  return Array.from({ length: count }, (_, index) => first + index)
}
