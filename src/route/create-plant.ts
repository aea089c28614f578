import { ApiError, type ErrorName } from '../api-error.js'
import { systemClock } from '../clock.js'
import { Deadlines } from '../pending/deadlines.js'
import { channels, type CreateMessage } from '../diagnostics.js'
import {
  PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant, type PlantStore
} from '../stores/store.js'
import type { PendingLimits, PendingRequest } from '../pending/pending-request.js'
import { refusalFor } from './errors.js'
import type { PlantWire } from './schemas.js'

const outcomes: readonly CreateOutcome[] = ['stored', 'same', 'taken']
const failures: Partial<Record<ErrorName, CreateMessage['outcome']>> = {
  notStored: 'not_stored', outcomeUnknown: 'unknown'
}

/**
 * Makes the function that stores the plant of a create request, durably: it resolves with the body of the response, or
 * rejects with the `ApiError` to send.
 * @param storeTimeout milliseconds within which it settles, even if the store does not
 */
export function plantCreator (store: PlantStore, limits: PendingLimits, storeTimeout: number, clock = systemClock) {
  const deadlines = new Deadlines(clock)

  return function createPlant (plant: NewPlant, pending: PendingRequest): Promise<PlantWire> {
    // A store of the host may change the plant that it gets.
    const { name, tag } = plant
    return new Promise((resolve, reject) => {
      const exceeded = pending.enterStore()
      if (exceeded !== undefined) throw refusalFor(exceeded)
      const message: CreateMessage = { pending: limits.pending, queueBytes: limits.bytes, outcome: undefined }
      channels.createStart.publish(message)
      const deadline = clock.now() + storeTimeout
      const waiting = deadlines.add(deadline, () => {
        reject(new ApiError('outcomeUnknown', undefined, new Error('the store did not respond in time')))
      })

      function end (outcome: CreateMessage['outcome']): void {
        deadlines.delete(waiting)
        pending.leaveStore()
        message.pending = limits.pending
        message.queueBytes = limits.bytes
        message.outcome = outcome
        channels.createEnd.publish(message)
      }
      function succeed (outcome: CreateOutcome): void {
        if (!outcomes.includes(outcome)) return fail(new TypeError('the store resolved with no outcome of a create'))
        end(outcome)
        if (outcome === 'taken') return reject(new ApiError('idTaken'))
        resolve(tag === undefined ? { name } : { name, tag })
      }
      function fail (reason: unknown): void {
        const error = errorOf(reason)
        end(failures[error.kind] ?? 'failed')
        reject(error)
      }

      try {
        Promise.resolve(store.create(plant, deadline)).then(succeed, fail)
      } catch (error) {
        fail(error)
      }
    })
  }
}

/** The response to a create request whose plant the store has rejected, for whatever reason. */
function errorOf (reason: unknown): ApiError {
  try {
    if (reason instanceof PlantNotStored) return new ApiError('notStored', undefined, reason)
    if (reason instanceof PlantOutcomeUnknown) return new ApiError('outcomeUnknown', undefined, reason)
    return new ApiError('internal', undefined, reason)
  } catch {
    // A Proxy, for example, can make any look at it throw.
    return new ApiError('internal', undefined, new Error('the store rejected with what cannot be read'))
  }
}
