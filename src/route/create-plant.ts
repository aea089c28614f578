import { systemClock } from '../clock.js'
import { Deadlines } from '../pending/deadlines.js'
import { channels, type CreateMessage } from '../diagnostics.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant, type PlantStore } from '../stores/plant-store.js'
import type { PendingLimits } from '../pending/pending-limits.js'
import type { PendingRequest } from '../pending/pending-request.js'
import { ApiError, refusalFor, type ErrorName } from './errors.js'

/**
 * Makes the function that stores the plant of a create request, durably, or rejects with the `ApiError` to send.
 * @param storeTimeout milliseconds within which it settles, even if the store does not
 */
export function plantCreator (store: PlantStore, limits: PendingLimits, storeTimeout: number, clock = systemClock) {
  const deadlines = new Deadlines(clock)

  return function createPlant (plant: NewPlant, pending: Pick<PendingRequest, 'enterStore' | 'leaveStore'>): Promise<void> {
    return new Promise((resolve, reject) => {
      const exceeded = pending.enterStore()
      if (exceeded !== undefined) throw refusalFor(exceeded)
      const message: CreateMessage = { pending: limits.pending, queueBytes: limits.bytes, outcome: undefined }
      channels.createStart.publish(message)
      const deadline = clock.now() + storeTimeout
      const waiting = deadlines.add(deadline, () => {
        reject(new ApiError('outcomeUnknown', undefined, new Error('the store did not respond in time')))
      })

      function settle (result: CreateOutcome | ApiError): void {
        deadlines.delete(waiting)
        pending.leaveStore()
        message.pending = limits.pending
        message.queueBytes = limits.bytes
        message.outcome = typeof result === 'string' ? result : failures[result.kind] ?? 'failed'
        channels.createEnd.publish(message)
        if (typeof result !== 'string') reject(result)
        else if (result === 'taken') reject(new ApiError('idTaken'))
        else resolve()
      }

      created(store, plant, deadline).then(settle, reason => { settle(errorOf(reason)) })
    })
  }
}

async function created (store: PlantStore, plant: NewPlant, deadline: number): Promise<CreateOutcome> {
  const outcome = await store.create(plant, deadline)
  if (!outcomes.includes(outcome)) throw new TypeError('the store resolved with a value that is no outcome of a create')
  return outcome
}

const outcomes: readonly CreateOutcome[] = ['stored', 'same', 'taken']
const failures: Partial<Record<ErrorName, CreateMessage['outcome']>> = { notStored: 'not_stored', outcomeUnknown: 'unknown' }

/** The response to a create request whose plant the store has rejected, for whatever reason. */
function errorOf (reason: unknown): ApiError {
  if (reason instanceof PlantNotStored) return new ApiError('notStored', undefined, reason)
  if (reason instanceof PlantOutcomeUnknown) return new ApiError('outcomeUnknown', undefined, reason)
  return new ApiError('internal', undefined, reason)
}
