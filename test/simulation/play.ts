import type { FastifyReply } from 'fastify'
import { plantCreator } from '../../src/route/create-plant.js'
import { PendingRequest, PendingRequests } from '../../src/route/pending-requests.js'
import { ApiError } from '../../src/api-error.js'
import { BatchedPlantStore } from '../../src/stores/batching/batched-plant-store.js'
import { MongoWriter } from '../../src/stores/mongo/mongo-writer.js'
import { PlantNotStored, type PlantStore } from '../../src/stores/store.js'
import { SqliteClient } from '../../src/stores/sqlite/sqlite-client.js'
import { VirtualClock } from '../support/virtual-clock.js'
import { Random } from './random.js'
import { SimulatedMongo } from './simulated-mongo.js'
import { SimulatedSqlite } from './simulated-sqlite.js'
import { fieldsOf, rejectingWriter } from './simulated-store.js'
import type { Step, Story } from './story.js'

type Status = 200 | 400 | 500 | 503 | 504

interface Request {
  readonly id: number
  readonly text: string
  readonly at: number
  status: Status | undefined
  /** Whether it was sent after recovery. */
  readonly isLater: boolean
}

/** The time after the last fault in which all pending plants must be stored: a back-off, and some attempts. */
const RECOVERY_MS = 1_000
/** As many again, to find the plant that fails each batch. */
const SEARCH_MS = 500
const TOO_LARGE = 'x'.repeat(17_000_000)
const BODY_BYTES = 100
/** A reply whose client waits for it. */
const NO_REPLY = { raw: { writableEnded: false }, request: { raw: {} } } as FastifyReply
/** A response may be as late as a timer. */
const TIMER_MS = 2

/**
 * Plays a story with the real handler, batching and writer on a simulated store, and checks each response
 * against the contract.
 * @returns the first contradiction; undefined if there is none
 */
export async function play (story: Story, log?: (line: string) => void): Promise<string | undefined> {
  const clock = new VirtualClock()
  const random = new Random(story.seed ^ 0x5EED)
  const simulated = story.store === 'MongoDB'
    ? new SimulatedMongo(clock, random, story)
    : new SimulatedSqlite(clock, random, story)
  const maxInFlight = story.store === 'MongoDB' ? 16 : 1
  const { storeTimeout, queueLimit } = story
  const recovery = story.breaking.length > 0 ? RECOVERY_MS + SEARCH_MS : RECOVERY_MS
  const requests: Request[] = []
  const acknowledged = new Map<number, string>()
  const start = clock.now()
  let contradiction: string | undefined
  let closingAt = Infinity
  let isClosed = false
  let unanswered = 0
  /** Plants that the store has, also after a 504: they still count as pending. */
  let unsettled = 0
  const say = log === undefined
    ? undefined
    : (line: string) => log(`${String(clock.now() - start).padStart(6)} ms  ${line}`)
  simulated.log = say

  const open = () => {
    const writer = simulated instanceof SimulatedMongo
      ? new MongoWriter(simulated.connect(), story.ownClient ? () => simulated.connect() : undefined, clock)
      : new SqliteClient('simulated.db', simulated.startThread)
    const store = new BatchedPlantStore(rejectingWriter(writer, simulated), clock, random.next)
    const queue = new PendingRequests({ queueLimit, queueBytes: 1_000_000 }, clock)
    const counting: PlantStore = {
      create (plant, deadline) {
        unsettled++
        return store.create(plant, deadline).finally(() => { unsettled-- })
      }
    }
    return { store, queue, createPlant: plantCreator(counting, queue, storeTimeout, clock) }
  }
  let { store, queue, createPlant } = open()

  function contradict (what: string): void {
    say?.(`CONTRADICTION: ${what}`)
    contradiction ??= what
  }

  function create (id: number, text: string, isLater = false): void {
    const request: Request = { id, text, at: clock.now(), status: undefined, isLater }
    requests.push(request)
    say?.(`create ${id} ${text}`)
    unanswered++
    const answer = (payload: unknown): void => { respond(request, payload) }
    const pending = new PendingRequest(queue, NO_REPLY)
    pending.hold(BODY_BYTES)
    const fields = story.unsendable.includes(id) && !isLater ? { name: TOO_LARGE } : fieldsOf(text)
    createPlant({ id: BigInt(id), ...fields }, pending).then(answer, answer).finally(() => { pending.end() })
  }

  function respond (request: Request, payload: unknown): void {
    const { id, text, at } = request
    const plant = `${id} ${text}`
    const status = payload instanceof ApiError ? payload.statusCode as Status : 200
    const reason = payload instanceof ApiError ? payload.cause ?? payload : ''
    say?.(`${status} for ${plant} ${reason instanceof Error ? reason.message : ''}`)
    if (request.status !== undefined) return contradict(`two responses for ${plant}`)
    request.status = status
    unanswered--
    const now = clock.now()
    if (now > at + storeTimeout + TIMER_MS) contradict(`${status} for ${plant} came after ${now - at} ms`)
    switch (status) {
      case 200:
        acknowledged.set(id, text)
        if (simulated.durable(BigInt(id)) === text) return
        return contradict(`200 for ${plant}, which is not stored durably`)
      case 400:
        if (![undefined, text].includes(simulated.durable(BigInt(id)))) return
        return contradict(`400 for ${plant}, but no other plant has the id`)
      case 500: return contradict(`500 for ${plant}: ${String((payload as ApiError).cause)}`)
      default: if (!isExcused(request, payload)) contradict(`${status} for ${plant}, for no reason`)
    }
  }

  /** Whether a 503 or 504 has a reason, such as a recent fault. */
  function isExcused ({ id, at, status, isLater }: Request, payload: unknown): boolean {
    const cause = payload instanceof ApiError ? payload.cause : undefined
    // At the deadline, the outcome of an attempt in flight is unknown.
    if (status === 504 && !simulated.isUncertain && simulated.faultsInFlight === 0) return false
    if (status === 503 && cause === undefined) {
      return Math.max(unanswered, unsettled) >= queueLimit || (simulated.isUncertain && !isLater)
    }
    if (isLater) return false
    if ([...story.poison, ...story.unsendable, ...story.breaking].includes(id)) return true
    // Each of them in turn is the probe, and the pauses grow.
    if (requests.filter(({ id }) => story.breaking.includes(id)).length > 2) return true
    // Without a fault, what was pending is still stored.
    const hadFault = simulated.isUncertain || simulated.lastFault > 0
    if (closingAt < Infinity && (hadFault || at >= closingAt)) return true
    const isRefused = cause instanceof PlantNotStored && cause.permanent
    if (simulated.hasRefused && (status === 504 || isRefused)) return true
    if (simulated.faultsInFlight > 0 || (simulated instanceof SimulatedMongo && simulated.isLagging)) return true
    const lastFault = Math.max(simulated.lastFault, at)
    return simulated.lastFault > 0 && at + storeTimeout - lastFault < recovery
  }

  async function close (): Promise<void> {
    closingAt = clock.now()
    say?.('close')
    await store.close()
    isClosed = true
    say?.('closed')
    if (simulated.writesInFlight > 0) contradict('close resolved with a write in flight')
  }

  function take (step: Step): void {
    switch (step.do) {
      case 'create': return create(step.id, step.text)
      case 'fault': return simulated.addFault(step)
      case 'close':
        if (closingAt === Infinity) close()
        return
    }
    if (!(simulated instanceof SimulatedMongo)) return
    say?.(step.do)
    if (step.do === 'roll back') simulated.rollBack()
    else if (step.do === 'lag') simulated.lag()
    else simulated.catchUp()
  }

  // All steps of one time are taken in one turn of the event loop.
  for (const at of new Set(story.steps.map(step => step.at))) {
    clock.setTimeout(() => story.steps.filter(step => step.at === at).forEach(take), at)
  }

  async function pass (milliseconds: number): Promise<void> {
    await clock.pass(milliseconds, () => {
      if (simulated.writesInFlight > maxInFlight) contradict(`${simulated.writesInFlight} writes in flight`)
      if (isClosed && simulated.writesInFlight > 0) contradict('a write after close')
      return contradiction !== undefined
    })
  }

  await pass((story.steps.at(-1)?.at ?? 0) + storeTimeout + TIMER_MS)
  const missing = requests.find(({ status }) => status === undefined)
  if (missing !== undefined) contradict(`no response for ${missing.id} ${missing.text}`)
  if (contradiction !== undefined) return contradiction

  simulated.heal()
  // Longer than any command is delayed.
  await pass(storeTimeout + 13_000)
  if (closingAt < Infinity && !isClosed) contradict('close never resolves')
  if (queue.pending !== 0 || queue.bytes !== 0) {
    contradict(`${queue.pending} requests of ${queue.bytes} bytes are still pending`)
  }
  if (simulated.writes > 100 * requests.length + 50) {
    contradict(`${simulated.writes} writes for ${requests.length} requests`)
  }
  for (const { id, text, status } of requests) {
    const ofPlant = requests.filter(other => other.id === id && other.text === text)
    const isRefused = status === 503 && ofPlant.every(other => other.status === 503)
    if (isRefused && simulated.everStored.has(`${id} ${text}`)) contradict(`503 for ${id} ${text}, which was stored`)
  }
  if (contradiction !== undefined) return contradiction

  // After recovery, the same plants are sent again.
  if (isClosed) ({ store, queue, createPlant } = open())
  closingAt = Infinity
  isClosed = false
  for (const { id, text } of [...requests]) create(id, text, true)
  await pass(storeTimeout + TIMER_MS)
  for (const request of requests) {
    if (request.status === undefined) contradict(`no response for ${request.id} ${request.text}, after recovery`)
  }
  close()
  await pass(storeTimeout + 4_000)
  if (!isClosed) contradict('close never resolves after recovery')
  if (simulated instanceof SimulatedMongo) simulated.rollBack()
  for (const [id, text] of acknowledged) {
    if (simulated.durable(BigInt(id)) !== text) contradict(`${id} ${text} was acknowledged, but is lost`)
  }
  return contradiction
}
