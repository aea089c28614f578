import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from './api-error.js'
import type { NewPlantBody } from './plant-schemas.js'
import { PlantNotStored, PlantPerhapsStored, type NewPlant, type PlantStore } from './stores/plant-store.js'

/** The bounds of a create, with any store. */
export interface CreateLimits {
  /** Milliseconds in which a create gets its answer, whatever the store does. */
  storeTimeout: number
  /** Creates that the store has not let go of; one more is refused. */
  queueLimit: number
}

/** Makes the handler of `POST /plants`, for a body that is valid. */
export function plantCreator (store: PlantStore, { storeTimeout, queueLimit }: CreateLimits) {
  let waiting = 0

  return function createPlant (request: FastifyRequest<{ Body: NewPlantBody }>, reply: FastifyReply): void {
    if (waiting >= queueLimit) {
      reply.send(new ApiError('notStored', 'Too many creates wait for the store; the plant is not stored: send it again later'))
      return
    }
    const { id, name, tag } = request.body
    const plant: NewPlant = tag === undefined ? { id, name } : { id, name, tag }
    const deadline = performance.now() + storeTimeout
    let answered = false
    const answer = (payload: NewPlant | ApiError): void => {
      answered = true
      reply.send(payload)
    }
    const timer = setTimeout(() => {
      answer(new ApiError('perhapsStored', undefined, new Error(`no word from the store in ${storeTimeout} ms`)))
    }, storeTimeout)

    // The store keeps its place in the queue until it lets go of it, also after the answer: a store that hangs cannot
    // be made to hold more than queueLimit plants.
    waiting++
    outcomeOf(store, plant, deadline).then(outcome => {
      waiting--
      clearTimeout(timer)
      if (!answered) answer(outcome === 'taken' ? new ApiError('idTaken') : plant)
    }, (reason: unknown) => {
      waiting--
      clearTimeout(timer)
      if (!answered) answer(failure(reason))
    })
  }
}

async function outcomeOf (store: PlantStore, plant: NewPlant, deadline: number) {
  return store.create(plant, deadline)
}

function failure (reason: unknown): ApiError {
  if (reason instanceof PlantNotStored) return new ApiError('notStored', undefined, reason)
  if (reason instanceof PlantPerhapsStored) return new ApiError('perhapsStored', undefined, reason)
  return new ApiError('internal', undefined, reason)
}
