import { Random } from './random.js'

/** A fault of one command or request of the store. Milliseconds count from the time it is sent. */
export type Fault =
  /** MongoDB: the command never leaves the process. */
  | { kind: 'unsent', error: 'selection' | 'checkout' | 'cleared' | 'handshake' | 'connection', after: number }
  /** MongoDB: the command is sent; it is executed after `late` milliseconds or never, and no reply arrives. */
  | { kind: 'lost', late: number | undefined, closedAfter: number | undefined }
  /** MongoDB: the reply is an error. */
  | { kind: 'error', code: number, labels: string[], stores: boolean }
  /** MongoDB: one of `every` documents gets a write error. */
  | { kind: 'write errors', code: number, every: number, stores: boolean }
  /** MongoDB: one of `every` documents is not stored, gets no error, and is missing in the count of the response. */
  | { kind: 'not counted', every: number }
  /** MongoDB: executed, but not known to be on the majority. */
  | { kind: 'write concern error', code: number }
  /** SQLite: the thread dies during the request. */
  | { kind: 'dies', stores: boolean }
  /** SQLite: the request fails. */
  | { kind: 'fails', perhaps: boolean, stores: boolean, permanent: boolean }
  /** SQLite: the thread does not start. */
  | { kind: 'no thread' }
  /** Both: the reply is delayed. */
  | { kind: 'slow', after: number }
  /** Both: the writer throws at once, or writes and then rejects. */
  | { kind: 'rejects', writes: boolean }

export type Step = { at: number } & (
  | { do: 'create', id: number, text: string }
  /** The next `times` commands of this kind have the fault. */
  | { do: 'fault', to: 'write' | 'read' | 'connect' | 'writer', fault: Fault, times: number }
  /** MongoDB: writes that have not reached the majority are lost; replication stops, or resumes. */
  | { do: 'roll back' | 'lag' | 'catch up' }
  | { do: 'close' }
)

export interface Story {
  seed: number
  store: 'MongoDB' | 'SQLite'
  storeTimeout: number
  queueLimit: number
  /** A plant with one of these ids is refused. */
  poison: number[]
  /** MongoDB: a plant with one of these ids is too large for a document, except after recovery. */
  unsendable: number[]
  /** MongoDB: an insert with one of these ids fails as a whole, except after recovery. */
  breaking: number[]
  /** MongoDB: the store has its own client, which must connect first. */
  ownClient: boolean
  steps: Step[]
}

const NO_WRITES = 'NoWritesPerformed'

export function storyOf (seed: number): Story {
  const random = new Random(seed)
  const store = random.chance(0.6) ? 'MongoDB' : 'SQLite'
  const calm = random.chance(0.1)
  const length = 2 + random.below(random.chance(0.1) ? 40 : 12)
  const ids = random.pick(2, 6, 40)
  const steps: Step[] = []
  let at = 1
  for (let step = 0; step < length; step++) {
    const sort = random.next()
    if (calm || sort < 0.55) {
      for (let count = random.pick(1, 1, 2, 3, 8); count > 0; count--) {
        const id = 1 + random.below(ids)
        // Mostly a new plant, sometimes one that was created before.
        const others = () => random.chance(0.5) ? 'fern, tall' : `plant ${steps.length}`
        steps.push({ at, do: 'create', id, text: random.chance(0.3) ? 'fern' : others() })
      }
    } else if (sort < 0.58) {
      const fault: Fault = { kind: 'rejects', writes: random.chance(0.5) }
      steps.push({ at, do: 'fault', to: 'writer', fault, times: random.pick(1, 1, 2, 5, 1_000) })
    } else if (sort < 0.96) {
      steps.push(store === 'MongoDB' ? mongoFault(at, random) : sqliteFault(at, random))
    } else if (sort < 0.97 || step > length - 3) {
      steps.push({ at, do: 'close' })
    }
    at += random.pick(0, 0, 1, 5, 30, 200, random.below(1_500))
  }
  return {
    seed,
    store,
    storeTimeout: random.pick(500, 1_000, 2_000, 2_000),
    queueLimit: random.chance(0.1) ? 1 + random.below(5) : 1_000,
    poison: random.chance(0.2) ? [1 + random.below(ids)] : [],
    unsendable: store === 'MongoDB' && random.chance(0.1) ? [1 + random.below(ids)] : [],
    breaking: store === 'MongoDB' && random.chance(0.15) ? [1 + random.below(ids)] : [],
    ownClient: random.chance(0.5),
    steps
  }
}

function mongoFault (at: number, random: Random): Step {
  const times = random.pick(1, 1, 2, 5, 1_000)
  const sort = random.next()
  if (sort < 0.12) return { at, do: random.pick('roll back', 'lag', 'catch up', 'catch up') }
  if (sort < 0.22) return { at, do: 'fault', to: 'connect', fault: unsent(random), times }
  if (sort < 0.36) {
    const fault = random.pick<Fault>(
      { kind: 'error', code: random.pick(11600, 134, 13), labels: [], stores: false },
      { kind: 'lost', late: undefined, closedAfter: random.pick(undefined, 5) },
      { kind: 'slow', after: random.pick(30, 400) }
    )
    return { at, do: 'fault', to: 'read', fault, times }
  }
  return { at, do: 'fault', to: 'write', fault: mongoWriteFault(random), times }
}

function unsent (random: Random): Fault {
  return {
    kind: 'unsent',
    error: random.pick('selection', 'selection', 'checkout', 'cleared', 'handshake', 'connection'),
    after: random.pick(1, 60, 700)
  }
}

function mongoWriteFault (random: Random): Fault {
  switch (random.below(8)) {
    case 0: return unsent(random)
    case 1: return { kind: 'slow', after: random.pick(10, 60, 1_500) }
    case 2: return {
      kind: 'lost', late: random.pick(undefined, 1, 50, 3_000), closedAfter: random.pick(undefined, 2, 60)
    }
    case 3: {
      const stores = random.chance(0.5)
      return {
        kind: 'error',
        code: random.pick(6, 91, 189, 10107, 11600, 11602, 112, 13, 16908292),
        labels: stores || random.chance(0.3) ? [] : [NO_WRITES],
        stores
      }
    }
    case 4:
    case 5: return {
      kind: 'write errors', code: random.pick(6, 112, 91, 121), every: random.pick(1, 2, 3), stores: random.chance(0.5)
    }
    case 6: return { kind: 'not counted', every: random.pick(1, 2, 3) }
    default: return { kind: 'write concern error', code: random.pick(64, 91, 100, 189, 11602) }
  }
}

function sqliteFault (at: number, random: Random): Step {
  const times = random.pick(1, 1, 2, 5, 1_000)
  const stores = random.chance(0.5)
  const fault = random.pick<Fault>(
    { kind: 'dies', stores },
    { kind: 'fails', perhaps: false, stores: false, permanent: false },
    { kind: 'fails', perhaps: true, stores, permanent: false },
    { kind: 'fails', perhaps: false, stores: false, permanent: true },
    { kind: 'no thread' },
    { kind: 'slow', after: random.pick(20, 250, 1_000, 12_000) }
  )
  return { at, do: 'fault', to: fault.kind === 'no thread' ? 'connect' : 'write', fault, times }
}
