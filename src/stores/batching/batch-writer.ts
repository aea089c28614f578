import type { CreateOutcome, NewPlant, PlantNotStored, PlantOutcomeUnknown } from '../plant-store.js'

/** Why a plant was not stored, or may not have been. */
export type CreateFailure = PlantNotStored | PlantOutcomeUnknown

/** The result of a write for one plant of its batch. */
export type WriteResult = CreateOutcome | CreateFailure

/** Writes many plants at once, durably. */
export interface BatchWriter {
  /** The most batches that may be in flight at once. */
  readonly maxInFlight: number
  /**
   * Never rejects.
   * @param deadline on the clock of `performance.now()`: no plant's outcome is of use after it
   * @param earliestDeadline on the same clock: the first plant's outcome is of no use after it
   * @returns a result for each plant, in order; or one failure of the whole batch, which any of its plants may have
   *   caused
   */
  write (
    plants: readonly NewPlant[], deadline: number, earliestDeadline: number
  ): Promise<readonly WriteResult[] | CreateFailure>
}
