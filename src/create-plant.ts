import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from './api-error.js'
import { Deadlines, type Waiter } from './deadlines.js'
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
  const deadlines = new Deadlines()
  // A create keeps its place until the store lets go of it, also after its answer: a store that hangs cannot be made to
  // hold more than queueLimit plants.
  let waiting = 0

  async function answerInTime (plant: NewPlant, reply: FastifyReply): Promise<void> {
    const answer = new PendingAnswer(performance.now() + storeTimeout, reply)
    let payload: NewPlant | ApiError
    waiting++
    deadlines.add(answer)
    try {
      payload = await store.create(plant, answer.deadline) === 'taken' ? new ApiError('idTaken') : plant
    } catch (reason) {
      payload = failure(reason)
    }
    waiting--
    if (answer.expired) return
    deadlines.remove(answer)
    reply.send(payload)
  }

  return function createPlant (request: FastifyRequest<{ Body: NewPlantBody }>, reply: FastifyReply): void {
    if (waiting >= queueLimit) {
      reply.send(new ApiError('notStored', 'Too many creates wait for the store; the plant is not stored: send it again later'))
      return
    }
    const { id, name, tag } = request.body
    answerInTime(tag === undefined ? { id, name } : { id, name, tag }, reply)
  }
}

/** An answer that is owed until a deadline. */
class PendingAnswer implements Waiter {
  previous: Waiter | undefined = undefined
  next: Waiter | undefined = undefined
  expired = false

  constructor (readonly deadline: number, readonly reply: FastifyReply) {}

  expire (): void {
    this.expired = true
    this.reply.send(new ApiError('perhapsStored', undefined, new Error('no word from the store in time')))
  }
}

function failure (reason: unknown): ApiError {
  if (reason instanceof PlantNotStored) return new ApiError('notStored', undefined, reason)
  if (reason instanceof PlantPerhapsStored) return new ApiError('perhapsStored', undefined, reason)
  return new ApiError('internal', undefined, reason)
}
