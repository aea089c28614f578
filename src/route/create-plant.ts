import { systemClock, type Clock } from '../clock.js'
import { channels, type CreateMessage } from '../diagnostics.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant, type PlantStore } from '../plant-store.js'
import { ApiError, type ErrorName } from './errors.js'
import type { PendingLimits } from './pending-limits.js'

/**
 * Makes the function that stores the plant of a create request, durably, or rejects with the `ApiError` to send.
 * @param storeTimeout milliseconds within which it settles, even if the store does not
 */
export function plantCreator (
  store: PlantStore, limits: PendingLimits, storeTimeout: number, clock: Clock = systemClock
) {
  return function createPlant (plant: NewPlant, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const error = limits.exceededBy(bytes)
      if (error !== undefined) throw error
      const timer = clock.setTimeout(() => {
        reject(new ApiError('outcomeUnknown', undefined, new Error('the store did not respond in time')))
      }, storeTimeout)
      settle(plant, bytes).then(result => {
        clock.clearTimeout(timer)
        if (typeof result !== 'string') reject(result)
        else if (result === 'taken') reject(new ApiError('idTaken'))
        else resolve()
      })
    })
  }

  /**
   * A plant counts as pending until the store settles it, even after the response: a store that hangs must not
   * accumulate more plants.
   */
  async function settle (plant: NewPlant, bytes: number): Promise<CreateOutcome | ApiError> {
    limits.pending++
    limits.bytes += bytes
    const message: CreateMessage = { pending: limits.pending, queueBytes: limits.bytes, outcome: undefined }
    channels.createStart.publish(message)
    let result: CreateOutcome | ApiError
    try {
      result = await store.create(plant, clock.now() + storeTimeout)
      if (!outcomes.includes(result)) throw new TypeError(`the store resolved with ${String(result)}`)
    } catch (reason) {
      const kind = reason instanceof PlantOutcomeUnknown ? 'outcomeUnknown' : 'internal'
      result = new ApiError(reason instanceof PlantNotStored ? 'notStored' : kind, undefined, reason)
    }
    message.pending = --limits.pending
    message.queueBytes = limits.bytes -= bytes
    message.outcome = typeof result === 'string' ? result : failures[result.kind] ?? 'failed'
    channels.createEnd.publish(message)
    return result
  }
}

const outcomes: readonly CreateOutcome[] = ['stored', 'same', 'taken']
const failures: Partial<Record<ErrorName, CreateMessage['outcome']>> = { notStored: 'not_stored', outcomeUnknown: 'unknown' }
