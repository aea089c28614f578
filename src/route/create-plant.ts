import { ApiError, type ErrorName } from '../api-error.js'
import { systemClock } from '../clock.js'
import { channels, type CreateMessage } from '../diagnostics.js'
import type { NewPlant, PlantWire } from '../plant.js'
import type { CreateOutcome, PlantStore } from '../stores/store.js'
import type { PendingRequest, PendingRequests } from './pending-requests.js'

const failures: Partial<Record<ErrorName, CreateMessage['outcome']>> = {
  notStored: 'not_stored', outcomeUnknown: 'unknown'
}

/**
 * Makes the function that stores the plant of a create request, durably: it resolves with the body of the response, or
 * rejects with the `ApiError` to send.
 * @param storeTimeout milliseconds within which it settles, even if the store does not
 */
export function plantCreator (store: PlantStore, all: PendingRequests, storeTimeout: number, clock = systemClock) {
  return function createPlant (plant: NewPlant, pending: PendingRequest): Promise<PlantWire> {
    // A store of the host may change the plant that it gets.
    const { name, tag } = plant
    return new Promise((resolve, reject) => {
      const deadline = clock.now() + storeTimeout
      const refusal = pending.enterStore(deadline, () => {
        reject(new ApiError('outcomeUnknown', undefined, new Error('the store did not respond in time')))
      })
      if (refusal !== undefined) throw refusal
      const observed = observe(all)

      function succeed (outcome: CreateOutcome): void {
        if (!isOutcome(outcome)) return fail(new TypeError('the store resolved with no outcome of a create'))
        pending.leaveStore()
        observed?.end(outcome)
        if (outcome === 'taken') return reject(new ApiError('idTaken'))
        resolve(tag === undefined ? { name } : { name, tag })
      }
      function fail (reason: unknown): void {
        const error = errorOf(reason)
        pending.leaveStore()
        observed?.end(failures[error.kind] ?? 'failed')
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

function isOutcome (outcome: unknown): outcome is CreateOutcome {
  return outcome === 'stored' || outcome === 'same' || outcome === 'taken'
}

/** Publishes a create request on the diagnostics channels, if anybody subscribes to them. */
function observe (all: PendingRequests): { end: (outcome: CreateMessage['outcome']) => void } | undefined {
  const { createStart, createEnd } = channels
  if (!createStart.hasSubscribers && !createEnd.hasSubscribers) return undefined
  const message: CreateMessage = { pending: all.pending, queueBytes: all.bytes, outcome: undefined }
  createStart.publish(message)
  return {
    end (outcome) {
      createEnd.publish(Object.assign(message, { pending: all.pending, queueBytes: all.bytes, outcome }))
    }
  }
}

/** The response to a create request whose plant the store has rejected, for whatever reason. */
function errorOf (reason: unknown): ApiError {
  // Not by class: the store may be of another copy of this package.
  const { name } = Object(reason)
  if (name === 'PlantNotStored') return new ApiError('notStored', undefined, reason)
  if (name === 'PlantOutcomeUnknown') return new ApiError('outcomeUnknown', undefined, reason)
  return new ApiError('internal', undefined, reason)
}
