import type { Socket } from 'node:net'
import { monotonicMs } from '../../clock.js'
import { messageOf } from '../../error-message.js'
import { PlantNotStored, PlantPerhapsStored, type CreateOutcome, type NewPlant, type PlantStore } from '../../stores/plant-store.js'

/** The create requests of one turn of a worker: number, id, name, tag, and deadline on the clock of `monotonicMs`. */
type CreateRequests = [number, string, string, string | null, number][]

/** A message from a worker, a line of JSON. */
type StoreRequest = CreateRequests | { check: number }

/** A message to a worker, a line of JSON: the results of its requests, by their numbers. */
type StoreResponse = [number, Result][]

type Result = CreateOutcome | 'ready' | { failure: string, perhapsStored: boolean, permanent: boolean }

/** The start of this process on the clock of `monotonicMs`. */
const startedAt = monotonicMs() - performance.now()

const EXITED: Result = { failure: 'the first process exited', perhapsStored: true, permanent: false }

interface Pending {
  resolve: (outcome: CreateOutcome) => void
  reject: (reason: Error) => void
}

/**
 * The store of a worker: the primary process stores its plants, together with those of the other workers, so that they
 * share a commit, and no worker waits for another's lock.
 */
export class RemotePlantStore implements PlantStore {
  readonly #socket: Socket
  /**
   * By number; a number is used again after its result. Not a Map, which moves to a new table again and again: V8 keeps
   * the old ones, with their requests, until a full garbage collection. All processes together would take 10 to 20 %
   * more processor time.
   */
  readonly #pending: (Pending | undefined)[] = []
  readonly #free: number[] = []
  #unsent: CreateRequests | undefined
  #closed = false
  #idle: (() => void)[] = []

  /** @param socket connected to `servePlantStore` */
  constructor (socket: Socket) {
    this.#socket = socket
    onMessage<StoreResponse>(socket, results => {
      for (const [number, result] of results) this.#settle(number, result)
    })
    socket.on('close', () => {
      this.#closed = true
      this.#pending.forEach((pending, number) => { if (pending !== undefined) this.#settle(number, EXITED) })
    })
  }

  create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
    if (this.#closed) return Promise.reject(new PlantNotStored('the store is closed'))
    return new Promise((resolve, reject) => {
      const { id, name, tag = null } = plant
      this.#unsent ??= this.#sendAfterTurn()
      this.#unsent.push([this.#number({ resolve, reject }), String(id), name, tag, deadline + startedAt])
    })
  }

  ready (): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'))
    return new Promise((resolve, reject) => {
      send(this.#socket, { check: this.#number({ resolve: () => resolve(), reject }) })
    })
  }

  async close (): Promise<void> {
    this.#closed = true
    if (!this.#isIdle) await new Promise<void>(resolve => { this.#idle.push(resolve) })
    this.#socket.destroy()
  }

  get #isIdle (): boolean {
    return this.#free.length === this.#pending.length
  }

  #number (pending: Pending): number {
    const number = this.#free.pop() ?? this.#pending.length
    this.#pending[number] = pending
    return number
  }

  #sendAfterTurn (): CreateRequests {
    const requests: CreateRequests = []
    setImmediate(() => {
      this.#unsent = undefined
      send(this.#socket, requests)
    })
    return requests
  }

  #settle (number: number, result: Result): void {
    const pending = this.#pending[number]
    this.#pending[number] = undefined
    this.#free.push(number)
    if (result === 'ready') pending?.resolve('same')
    else if (typeof result === 'string') pending?.resolve(result)
    else pending?.reject(errorOf(result))
    if (this.#isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }
}

/**
 * Stores the plants of a `RemotePlantStore`.
 * @param socket connected to it
 * @param byteLimit bytes of pending requests from which on no more are read
 */
export function servePlantStore (socket: Socket, store: PlantStore, byteLimit: number): void {
  let results: StoreResponse = []
  let pendingBytes = 0

  function respond (number: number, result: Result): void {
    // The results of a batch are sent together.
    if (results.push([number, result]) > 1) return
    process.nextTick(() => {
      send(socket, results)
      results = []
    })
  }

  function createAll (requests: CreateRequests, bytes: number): void {
    let pending = requests.length
    const settle = (number: number, result: Result): void => {
      respond(number, result)
      if (--pending > 0) return
      pendingBytes -= bytes
      if (pendingBytes <= byteLimit) socket.resume()
    }
    pendingBytes += bytes
    if (pendingBytes > byteLimit) socket.pause()
    for (const [number, id, name, tag, deadline] of requests) {
      const plant: NewPlant = { id: BigInt(id), name, ...(tag !== null && { tag }) }
      store.create(plant, deadline - startedAt).then(
        outcome => { settle(number, outcome) },
        error => { settle(number, resultOf(error)) })
    }
  }

  onMessage<StoreRequest>(socket, (request, bytes) => {
    if (Array.isArray(request)) return createAll(request, bytes)
    Promise.resolve(store.ready?.()).then(
      () => { respond(request.check, 'ready') },
      error => { respond(request.check, resultOf(error)) })
  })
}

function resultOf (error: unknown): Result {
  return {
    failure: messageOf(error),
    perhapsStored: !(error instanceof PlantNotStored),
    permanent: error instanceof PlantNotStored && error.permanent
  }
}

function errorOf ({ failure, perhapsStored, permanent }: Exclude<Result, string>): Error {
  return perhapsStored ? new PlantPerhapsStored(failure) : new PlantNotStored(failure, { permanent })
}

function send (socket: Socket, message: StoreRequest | StoreResponse): void {
  socket.write(`${JSON.stringify(message)}\n`)
}

/** Parses the lines that arrive on a socket. */
function onMessage<Message> (socket: Socket, listener: (message: Message, bytes: number) => void): void {
  let incomplete = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = chunk.split('\n')
    lines[0] = incomplete + lines[0]
    incomplete = lines.pop() ?? ''
    for (const line of lines) listener(JSON.parse(line), line.length)
  })
  // The other process has exited.
  socket.on('error', () => {})
}
