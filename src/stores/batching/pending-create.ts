import { PlantNotStored, type CreateOutcome, type NewPlant } from '../plant-store.js'
import type { CreateFailure } from './batch-writer.js'

/** A create request without an outcome. It is in one place at a time: pending, or in flight. */
export interface PendingCreate {
  readonly plant: NewPlant
  readonly deadline: number
  readonly resolve: (outcome: CreateOutcome) => void
  readonly reject: (reason: Error) => void
  /** Why an earlier attempt failed. */
  failure: CreateFailure | undefined
  /** How often it failed by itself: with a result of its own, or alone in its batch. */
  failures: number
}

/** @param reason why it was not sent, if it never was */
export function giveUp (create: PendingCreate, reason = 'the store was too busy to take it in time'): void {
  create.reject(create.failure ?? new PlantNotStored(reason))
}
