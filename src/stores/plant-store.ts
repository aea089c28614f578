/** A plant as it is created. */
export interface NewPlant {
  /** Identification number, any int64. */
  id: bigint
  /** Well-formed Unicode: no lone surrogates. NUL is allowed. */
  name: string
  /** Absent, never `undefined`, where the plant has none. */
  tag?: string
}

/**
 * What became of a create:
 * - `stored`: the plant is new, and is stored durably;
 * - `same`: the very same plant (id, name and tag) was there already, durably;
 * - `taken`: another plant has this id; nothing was changed.
 */
export type CreateOutcome = 'stored' | 'same' | 'taken'

/**
 * Where plants go. The promises of a store:
 *
 * 1. *Durable.* `create` resolves only when the plant would survive the end of the process and of the machine.
 * 2. *Exact.* Id, name and tag are kept to the last digit and character.
 * 3. *One plant an id.* Of two different plants under one id, created at once or one after the other, exactly one is
 *    stored; the other is `taken`. The same plant may be created any number of times.
 * 4. *No order.* Creates that wait at the same time are stored in any order.
 * 5. *Truthful.* A create that fails rejects with `PlantNotStored` where it is sure that the plant is not stored, and
 *    will not be; with `PlantPerhapsStored` where it is not. Anything else that it rejects with is a fault of the store.
 */
export interface PlantStore {
  /**
   * Stores one plant.
   * @param plant the plant; the store keeps no reference that it writes to
   * @param deadline on the clock of `performance.now()`, in milliseconds: nobody waits for the outcome after it,
   *   so a plant that was not sent by then need not be
   */
  create (plant: NewPlant, deadline: number): Promise<CreateOutcome>

  /**
   * Opens what the store needs. Who opens a store closes it; once closed, it stays so.
   * @returns true where this call opened it, false where it was open
   * @throws {StoreUnusable} where no later try can succeed: another program's file, a folder that is not writable
   */
  open? (): Promise<boolean>

  /** Resolves where the store could take a plant now; rejects with the reason where not, within seconds. */
  ready? (): Promise<void>

  /**
   * Lets what was sent come to its end, gives up what was not, and releases what `open` took. Creates that come later are
   * not stored. May be called twice, and on a store that was never opened.
   */
  close? (): Promise<void>
}

/** The plant is not stored, and will not be by this create: it is safe to give it up, or to send it again. */
export class PlantNotStored extends Error {
  override name = 'PlantNotStored'
  /** Whether another try soon would end the same way, for example where the store has no right to write. */
  readonly permanent: boolean

  constructor (message: string, { permanent = false, ...options }: ErrorOptions & { permanent?: boolean } = {}) {
    super(message, options)
    this.permanent = permanent
  }
}

/** The plant may be stored or not: sending the very same plant again tells, and is always safe. */
export class PlantPerhapsStored extends Error {
  override name = 'PlantPerhapsStored'
}

/** The store cannot be opened, and waiting will not help: the message says what to do. */
export class StoreUnusable extends Error {
  override name = 'StoreUnusable'
}
