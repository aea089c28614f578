import { validatePlant, type NewPlant } from '../plant.js'

/**
 * The outcome of a create request:
 * - `stored`: the plant is new, and is stored durably;
 * - `same`: the same plant (id, name and tag) was there already, durably;
 * - `taken`: another plant has this id; nothing was changed.
 */
export type CreateOutcome = 'stored' | 'same' | 'taken'

/** Milliseconds that a plant has if its caller gives no deadline. */
export const DEFAULT_TIMEOUT_MS = 10_000

/**
 * Where plants are stored. The promises of a store:
 *
 * 1. *Durable.* `create` resolves only when the plant would survive a crash of the process and of the machine.
 * 2. *Exact.* Id, name and tag are kept to the last digit and character.
 * 3. *One plant per id.* Of different plants with one id, created at once or one after the other, exactly one is
 *    stored; the others are `taken`. The same plant may be created any number of times.
 * 4. *No order.* Plants whose creation is pending at the same time are stored in any order.
 * 5. *Truthful.* `create` rejects with `PlantNotStored` if the plant is not stored, and will not be by this call; with
 *    `PlantOutcomeUnknown` if it may have been stored. Both are known by their `name`, since an app may have loaded two
 *    copies of their classes. Any other rejection is a fault of the store or of the caller.
 * 6. *Checked.* `create` rejects with a `TypeError`, and never throws, if its argument is not a plant, as a caller in
 *    JavaScript may have it. That changes nothing, and affects no other request.
 */
export interface PlantStore {
  /**
   * Stores one plant.
   * @param plant the plant, which the store never changes; later changes by the caller have no effect
   * @param deadline milliseconds on the clock of `performance.now()`: the outcome is not awaited after it, so a plant
   *   that was not sent by then may be given up. Default: in 10 seconds.
   */
  create (plant: NewPlant, deadline?: number): Promise<CreateOutcome>

  /**
   * Opens the store's resources. The caller that opens a store closes it; a closed store stays closed.
   * @returns true if this call opened it, false if it was open
   * @throws {StoreUnusable} if no later attempt can succeed: another program's file, a folder that is not writable
   */
  open? (): Promise<boolean>

  /** Resolves if the store could take a plant now; rejects with the reason if not, within seconds. */
  ready? (): Promise<void>

  /**
   * Waits for writes in flight, until soon after their deadlines, gives up pending ones, and releases what `open`
   * acquired. Later plants are not stored. May be called twice, and on a store that was never opened.
   */
  close? (): Promise<void>
}

/** The plant is not stored, and will not be by this call: it is safe to give up or to retry. */
export class PlantNotStored extends Error {
  override name = 'PlantNotStored'
  /** Whether another attempt before the deadline would also fail: no permission to write, a full disk. */
  readonly permanent: boolean

  constructor (message: string, { permanent = false, ...options }: { permanent?: boolean, cause?: unknown } = {}) {
    super(message, options)
    this.permanent = permanent
  }
}

/** The plant may have been stored. Retrying the same plant is always safe, and shows whether it was. */
export class PlantOutcomeUnknown extends Error {
  override name = 'PlantOutcomeUnknown'
}

/** The store cannot be opened, and retrying does not help; the message says what to do. */
export class StoreUnusable extends Error {
  override name = 'StoreUnusable'
}

/**
 * Checks the plant that a caller passes to `create`, and copies it, so that what the caller does to it later has no
 * effect.
 * @throws {TypeError} that names what is wrong, and never contains the plant
 */
export function checkedPlant (plant: NewPlant): NewPlant {
  const checked = validatePlant(plant)
  if ('error' in checked) throw new TypeError(checked.error.message)
  return checked.value
}
