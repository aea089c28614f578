import type { BatchWriter, CreateFailure, WriteResult } from '../../../src/stores/batching/batch-writer.js'
import { SharedWrites } from '../../../src/stores/batching/shared-writes.js'
import { PlantNotStored, type NewPlant } from '../../../src/stores/plant-store.js'
import { VirtualClock } from '../virtual-clock.js'

interface WrittenBatch {
  readonly ids: readonly number[]
  readonly deadline: number
  /** When it was written. */
  readonly at: number
  /** Completes the write, with a result for each plant or one for all. */
  readonly answer: (results: readonly WriteResult[] | WriteResult) => void
}

/**
 * A writer whose batches wait for the test to answer them; if `respond` is set, each gets its results immediately.
 */
export class FakeWriter implements BatchWriter {
  readonly batches: WrittenBatch[] = []
  respond: ((ids: readonly number[], number: number) => readonly WriteResult[] | WriteResult) | undefined
  readonly #clock: VirtualClock

  constructor (clock: VirtualClock, readonly maxInFlight: number) {
    this.#clock = clock
  }

  write (plants: readonly NewPlant[], deadline: number): Promise<readonly WriteResult[] | CreateFailure> {
    return new Promise(resolve => {
      const ids = plants.map(({ id }) => Number(id))
      const answer: WrittenBatch['answer'] = results => resolve(typeof results === 'string' ? ids.map(() => results) : results)
      const number = this.batches.push({ ids, deadline, at: this.#clock.now(), answer })
      if (this.respond !== undefined) answer(this.respond(ids, number))
    })
  }

  get ids (): (readonly number[])[] {
    return this.batches.map(({ ids }) => ids)
  }

  /** Completes the latest batch. */
  answer (results: readonly WriteResult[] | WriteResult): void {
    this.batches.at(-1)?.answer(results)
  }
}

export type Outcome = string | Error

/** Batched writes whose clock and writer are controlled by the test. */
export function sharedWrites (maxInFlight = 1) {
  const clock = new VirtualClock()
  const writer = new FakeWriter(clock, maxInFlight)
  const writes = new SharedWrites(writer, clock, () => 1)
  const outcomes = new Map<number, Outcome>()

  /** Creates plants; `outcomes` collects each outcome, or its error, by id. */
  function create (ids: readonly number[], timeoutMs = 5_000, name?: string): void {
    for (const id of ids) {
      writes.create({ id: BigInt(id), name: name ?? `plant ${id}` }, clock.now() + timeoutMs)
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
  async function answered (results: Parameters<FakeWriter['answer']>[0]): Promise<void> {
    writer.answer(results)
    await clock.turns()
  }

  return { clock, writer, writes, outcomes, create, created, answered }
}

export function notStored (message = 'away', permanent = false): PlantNotStored {
  return new PlantNotStored(message, { permanent })
}

/** Consecutive numbers, from 1 by default. */
export function numbers (count: number, first = 1): number[] {
  return Array.from({ length: count }, (_, place) => first + place)
}
