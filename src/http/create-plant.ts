import type { FastifyReply } from 'fastify'
import { systemClock, type Clock } from '../clock.js'
import { channels, type CreateMessage } from '../diagnostics.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type NewPlant, type PlantStore } from '../stores/plant-store.js'
import { bodyBytes, type ParsedRequest } from './body/json-body.js'
import type { CreateQueue } from './create-queue.js'
import { Deadlines, type Waiter } from './deadlines.js'
import { ApiError } from './error-codes.js'
import { PlantBody, serializeOnce } from './schemas/serialization.js'
import { plantOf } from './schemas/validation.js'
import { writeInOnePiece } from './single-write.js'

/**
 * Makes the handler of `POST /plants`, which is called with a valid body.
 * @param storeTimeout milliseconds within which a create request gets its response, even if the store does not respond
 */
export function createPlantHandler (
  store: PlantStore, queue: CreateQueue, storeTimeout: number, clock: Clock = systemClock
) {
  const deadlines = new Deadlines(clock)

  async function respond (plant: NewPlant, bytes: number, reply: FastifyReply, create: PendingCreate): Promise<void> {
    deadlines.add(create)
    // A request counts as pending until the store settles it, even after its response: a store that hangs must not
    // accumulate more plants.
    queue.pending++
    queue.bytes += bytes
    const message = start()
    let result: CreateOutcome | ApiError
    try {
      result = await store.create(plant, create.deadline)
      if (!outcomes.includes(result)) throw new TypeError(`the store resolved with ${String(result)}`)
    } catch (reason) {
      result = failure(reason)
    }
    queue.pending--
    queue.bytes -= bytes
    if (message !== undefined) end(message, result)
    if (create.expired) return
    deadlines.remove(create)
    if (typeof result !== 'string') create.reject(result)
    else if (result === 'taken') create.reject(new ApiError('idTaken'))
    else create.resolve(bodyOf(plant, reply))
  }

  function start (): CreateMessage | undefined {
    if (!channels.createStart.hasSubscribers && !channels.createEnd.hasSubscribers) return undefined
    const message: CreateMessage = { pending: queue.pending, queueBytes: queue.bytes, outcome: undefined }
    channels.createStart.publish(message)
    return message
  }

  function end (message: CreateMessage, result: CreateOutcome | ApiError): void {
    message.pending = queue.pending
    message.queueBytes = queue.bytes
    message.outcome = typeof result === 'string' ? result : failures[result.kind] ?? 'failed'
    channels.createEnd.publish(message)
  }

  return function createPlant (request: ParsedRequest, reply: FastifyReply): Promise<PlantBody> {
    // A promise, since a function of the host that wraps the handler takes its return for the end of the request. Not
    // an async function: its further promises take 5 % of the processor time of a create request.
    return new Promise((resolve, reject) => {
      const plant = plantOf(request)
      const bytes = request[bodyBytes] ?? 0
      const refusal = queue.refusal(bytes)
      if (refusal !== undefined) throw refusal
      // Other fields of the body are not kept while the store writes: `[{},{},…]` takes twenty times its bytes in
      // memory.
      request.body = plant
      respond(plant, bytes, reply, new PendingCreate(clock.now() + storeTimeout, resolve, reject))
    })
  }
}

/** A create request whose response is due by a deadline. */
class PendingCreate implements Waiter {
  previous: Waiter | undefined = undefined
  next: Waiter | undefined = undefined
  expired = false

  constructor (
    readonly deadline: number,
    readonly resolve: (body: PlantBody) => void,
    readonly reject: (error: ApiError) => void
  ) {}

  expire (): void {
    this.expired = true
    this.reject(new ApiError('outcomeUnknown', undefined, new Error('the store did not respond in time')))
  }
}

function bodyOf (plant: NewPlant, reply: FastifyReply): PlantBody {
  writeInOnePiece(reply.request.raw)
  reply.serializer(serializeOnce).header('content-type', 'application/json; charset=utf-8')
  return new PlantBody(plant)
}

function failure (reason: unknown): ApiError {
  if (reason instanceof PlantNotStored) return new ApiError('notStored', undefined, reason)
  if (reason instanceof PlantOutcomeUnknown) return new ApiError('outcomeUnknown', undefined, reason)
  return new ApiError('internal', undefined, reason)
}

const outcomes: readonly CreateOutcome[] = ['stored', 'same', 'taken']
const failures: Partial<Record<ApiError['kind'], CreateMessage['outcome']>> = {
  notStored: 'not_stored', outcomeUnknown: 'unknown'
}
