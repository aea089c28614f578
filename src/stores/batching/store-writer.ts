import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant } from '../plant-store.js'

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
   * @param deadline on the clock of `performance.now()`: the last plant's; the first one's is `earliestDeadline`
   * @returns a result for each plant, in order, also if some are refused; or one error of the whole batch, for a reason
   *   of the store's
   */
  write (
    plants: readonly NewPlant[], deadline: number, earliestDeadline: number
  ): Promise<readonly WriteResult[] | CreateError>
  /**
   * Resolves if a write would be possible now; otherwise rejects with the reason.
   * @param thoroughly whether to test all that a write needs, as at first and after a failed write
   */
  check (thoroughly: boolean): Promise<void>
  /** Releases all resources; nothing is written afterwards. */
  close (): Promise<void>
}

export function isOutcome (result: unknown): result is CreateOutcome {
  return result === 'stored' || result === 'same' || result === 'taken'
}

export function isCreateError (result: unknown): result is CreateError {
  return result instanceof PlantNotStored || result instanceof PlantOutcomeUnknown
}

export function isPermanent (error: CreateError): boolean {
  return error instanceof PlantNotStored && error.permanent
}

/** What the writes so far, or a check, have shown about the store. */
export type StoreState =
  | { readonly kind: 'not tried' | 'works' }
  | { readonly kind: 'failed', readonly error: CreateError, readonly at: number }

/** @returns undefined if a write shows nothing about the store: that plants are refused does not */
export function stateShownBy (results: readonly WriteResult[] | CreateError, now: number): StoreState | undefined {
  if (results instanceof Error) return { kind: 'failed', error: results, at: now }
  if (results.some(isOutcome)) return { kind: 'works' }
  const error = results.filter(isCreateError).find(error => !isPermanent(error))
  return error === undefined ? undefined : { kind: 'failed', error, at: now }
}
