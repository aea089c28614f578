import type { CreateOutcome, NewPlant, PlantNotStored, PlantOutcomeUnknown } from '../../plant-store.js'

/** A request whose plant cannot be written in time is given up this long before its deadline, for the response. */
export const RESPONSE_TIME_MS = 50

/** Why a plant was not stored, or may not have been. */
export type CreateFailure = PlantNotStored | PlantOutcomeUnknown

/** The result of a write for one plant of its batch. */
export type WriteResult = CreateOutcome | CreateFailure

/** Writes many plants at once, durably. */
export interface StoreWriter {
  /** The most batches that may be in flight at once. */
  readonly maxInFlight: number
  /**
   * Prepares for the first write. Temporary faults, such as a lock, do not fail it: each create request waits for them.
   * @throws {StoreUnusable} if no later attempt can succeed
   */
  open? (): Promise<void>
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
  /**
   * Resolves if a write would be possible now; otherwise rejects with the reason.
   * @param thoroughly whether to test an actual write, as after a failed one
   */
  check (thoroughly: boolean): Promise<void>
  /** Releases all resources; nothing is written afterwards. */
  close (): Promise<void>
}
