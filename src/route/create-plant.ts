import type { FastifyReply } from 'fastify'
import { systemClock, type Clock } from '../clock.js'
import { channels, type CreateMessage } from '../diagnostics.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant, type PlantStore } from '../plant-store.js'
import type { CreateQueue } from './pending-limits.js'
import { ApiError } from './errors.js'
import { bodyBytes, validPlant, type PlantRequest } from './plant-request.js'
import { PlantBody, serializeOnce } from './serialization.js'
import { writeInOnePiece } from './single-write.js'

/**
 * Makes the handler of `POST /plants`, which is called after `validateBody`.
 * @param storeTimeout milliseconds within which a create request gets its response, even if the store does not respond
 */
export function createPlantHandler (
  store: PlantStore, queue: CreateQueue, storeTimeout: number, clock: Clock = systemClock
) {
  return function createPlant (request: PlantRequest, reply: FastifyReply): Promise<PlantBody> {
    // A promise, since a function of the host that wraps the handler takes its return for the end of the request. Not
    // an async function: its further promises take 5 % of the processor time of a create request.
    return new Promise((resolve, reject) => {
      const plant = request[validPlant] as NewPlant
      const bytes = request[bodyBytes] ?? 0
      const refusal = queue.refusal(bytes)
      if (refusal !== undefined) throw refusal
      // Other fields of the body are not kept while the store writes: `[{},{},…]` takes twenty times its bytes in
      // memory.
      request.body = plant
      create(plant, bytes, reply, resolve, reject)
    })
  }

  async function create (
    plant: NewPlant, bytes: number, reply: FastifyReply,
    resolve: (body: PlantBody) => void, reject: (error: ApiError) => void
  ): Promise<void> {
    let isLate = false
    const timer = clock.setTimeout(() => {
      isLate = true
      reject(new ApiError('outcomeUnknown', undefined, new Error('the store did not respond in time')))
    }, storeTimeout)
    // A request counts as pending until the store settles it, even after its response: a store that hangs must not
    // accumulate more plants.
    queue.pending++
    queue.bytes += bytes
    const message = publishStart(queue)
    let result: CreateOutcome | ApiError
    try {
      result = await store.create(plant, clock.now() + storeTimeout)
      if (!outcomes.includes(result)) throw new TypeError(`the store resolved with ${String(result)}`)
    } catch (reason) {
      result = failure(reason)
    }
    queue.pending--
    queue.bytes -= bytes
    if (message !== undefined) publishEnd(message, queue, result)
    if (isLate) return
    clock.clearTimeout(timer)
    if (typeof result !== 'string') reject(result)
    else if (result === 'taken') reject(new ApiError('idTaken'))
    else resolve(bodyOf(plant, reply))
  }
}

function bodyOf (plant: NewPlant, reply: FastifyReply): PlantBody {
  writeInOnePiece(reply.request.raw)
  reply.serializer(serializeOnce).header('content-type', 'application/json; charset=utf-8')
  return new PlantBody(plant)
}

const outcomes: readonly CreateOutcome[] = ['stored', 'same', 'taken']

function failure (reason: unknown): ApiError {
  if (reason instanceof PlantNotStored) return new ApiError('notStored', undefined, reason)
  if (reason instanceof PlantOutcomeUnknown) return new ApiError('outcomeUnknown', undefined, reason)
  return new ApiError('internal', undefined, reason)
}

function publishStart (queue: CreateQueue): CreateMessage | undefined {
  if (!channels.createStart.hasSubscribers && !channels.createEnd.hasSubscribers) return undefined
  const message: CreateMessage = { pending: queue.pending, queueBytes: queue.bytes, outcome: undefined }
  channels.createStart.publish(message)
  return message
}

const failures: Partial<Record<ApiError['kind'], CreateMessage['outcome']>> = {
  notStored: 'not_stored', outcomeUnknown: 'unknown'
}

function publishEnd (message: CreateMessage, queue: CreateQueue, result: CreateOutcome | ApiError): void {
  message.pending = queue.pending
  message.queueBytes = queue.bytes
  message.outcome = typeof result === 'string' ? result : failures[result.kind] ?? 'failed'
  channels.createEnd.publish(message)
}
