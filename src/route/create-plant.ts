import { systemClock } from '../clock.js'
import { channels, type CreateMessage } from '../diagnostics.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant, type PlantStore } from '../stores/plant-store.js'
import { ApiError, type ErrorName } from './errors.js'
import type { PendingLimits } from './pending-limits.js'

/**
 * Makes the function that stores the plant of a create request, durably, or rejects with the `ApiError` to send.
 * @param storeTimeout milliseconds within which it settles, even if the store does not
 */
export function plantCreator (store: PlantStore, limits: PendingLimits, storeTimeout: number, clock = systemClock) {
  return function createPlant (plant: NewPlant, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const error = limits.exceededBy(bytes)
      if (error !== undefined) throw error
      const timer = clock.setTimeout(() => {
        reject(new ApiError('outcomeUnknown', undefined, new Error('the store did not respond in time')))
      }, storeTimeout)
      limits.pending++
      limits.bytes += bytes
      const message: CreateMessage = { pending: limits.pending, queueBytes: limits.bytes, outcome: undefined }
      channels.createStart.publish(message)

      // A plant counts as pending until the store settles it, even after the response: a store that hangs must not
      // accumulate more plants.
      function settle (result: CreateOutcome | ApiError): void {
        clock.clearTimeout(timer)
        message.pending = --limits.pending
        message.queueBytes = limits.bytes -= bytes
        message.outcome = typeof result === 'string' ? result : failures[result.kind] ?? 'failed'
        channels.createEnd.publish(message)
        if (typeof result !== 'string') reject(result)
        else if (result === 'taken') reject(new ApiError('idTaken'))
        else resolve()
      }
      created(plant).then(settle, reason => {
        const kind = reason instanceof PlantOutcomeUnknown ? 'outcomeUnknown' : 'internal'
        settle(new ApiError(reason instanceof PlantNotStored ? 'notStored' : kind, undefined, reason))
      })
    })
  }

  async function created (plant: NewPlant): Promise<CreateOutcome> {
    const outcome = await store.create(plant, clock.now() + storeTimeout)
    if (!outcomes.includes(outcome)) throw new TypeError(`the store resolved with ${String(outcome)}`)
    return outcome
  }
}

const outcomes: readonly CreateOutcome[] = ['stored', 'same', 'taken']
const failures: Partial<Record<ErrorName, CreateMessage['outcome']>> = { notStored: 'not_stored', outcomeUnknown: 'unknown' }
