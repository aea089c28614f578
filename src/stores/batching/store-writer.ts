import type { NewPlant } from '../../plant.js'
import type { CreateOutcome, PlantNotStored, PlantOutcomeUnknown } from '../store.js'

/** Milliseconds before its deadline at which a plant that cannot be written in time is given up, for the response. */
export const RESPONSE_MARGIN_MS = 50

export type CreateError = PlantNotStored | PlantOutcomeUnknown
export type WriteResult = CreateOutcome | CreateError

/** Writes many plants at once, durably. */
export interface StoreWriter {
  /** The most batches that may be in flight at once. */
  readonly maxInFlight: number
  /**
   * Prepares for writes; may be called again. Temporary faults, such as a lock, do not fail it.
   * @throws {StoreUnusable} if no later attempt can succeed
   */
  open? (): Promise<void>
  /**
   * Should not reject: then the outcome of the whole batch is open.
   * @param deadline the last plant's, on the clock of `performance.now()`
   * @returns a result for each plant, in order; or one error of the whole batch, which one of its plants may cause
   */
  write (plants: readonly NewPlant[], deadline: number): Promise<readonly WriteResult[] | CreateError>
  /** Rejects with the reason if a write is not possible now. A thorough check tests all that a write needs. */
  check (thoroughly: boolean): Promise<void>
  /** Releases all resources; nothing is written afterwards. */
  close (): Promise<void>
}
