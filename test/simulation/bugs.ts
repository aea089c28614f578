/** A plausible mistake, as a change to the compiled program, which the simulation must find. */
export interface Bug {
  name: string
  /** Below `src`. */
  file: string
  find: string
  replace: string
}

const batching = 'stores/batching/shared-writes.js'
const retries = 'stores/batching/retries.js'
const mongo = 'stores/mongo/mongo-writer.js'
const sqlite = 'stores/sqlite/sqlite-client.js'

export const bugs: readonly Bug[] = [
  {
    name: 'an early 200: a write concern error is ignored',
    file: mongo,
    find: 'const open = writeConcernError && new',
    replace: 'const open = undefined && new'
  },
  {
    name: 'an early 200: the write does not wait for the majority',
    file: mongo,
    find: "w: 'majority'",
    replace: 'w: 1'
  },
  {
    name: 'an early 200: an existing plant is read before it reaches the majority',
    file: mongo,
    find: "readConcern: 'majority'",
    replace: "readConcern: 'local'"
  },
  {
    name: 'a 200 for another plant: a name is not compared',
    file: mongo,
    find: "Reflect.get(document, 'name') === name &&",
    replace: ''
  },
  {
    name: 'the wrong index of a write error',
    file: mongo,
    find: 'results[error.index] = failureOf(error)',
    replace: 'results[Math.max(error.index - 1, 0)] = failureOf(error)'
  },
  {
    name: 'an ordered insert: documents after a failure are not stored',
    file: mongo,
    find: 'ordered: false',
    replace: 'ordered: true'
  },
  {
    name: 'an uncertain outcome reported as not stored: a server error without a label',
    file: mongo,
    find: "error.errorLabels?.includes('NoWritesPerformed') === true",
    replace: 'true'
  },
  {
    name: 'an uncertain outcome reported as not stored: a command that was sent counts as not sent',
    file: mongo,
    find: 'this.#sent?.add(command.comment)',
    replace: 'undefined'
  },
  {
    name: 'an uncertain outcome reported as not stored after a later attempt',
    file: batching,
    find: 'if (!(create.failure instanceof PlantPerhapsStored))',
    replace: 'if (true)'
  },
  {
    name: 'an uncertain outcome reported as not stored: the thread died',
    file: sqlite,
    find: 'perhapsStored = this.#lastAnswer === undefined',
    replace: 'perhapsStored = false'
  },
  {
    name: 'a missing retry of plants that failed on their own',
    file: retries,
    find: "this.#sendLater({ kind: 'queued', creates })",
    replace: 'undefined'
  },
  {
    name: 'a lost half of a batch after a split',
    file: retries,
    find: 'this.#suspects.push(creates.slice(half))',
    replace: 'undefined'
  },
  {
    name: 'suspects that keep waiting after a write has succeeded, without a timer',
    file: retries,
    find: "for (const creates of this.#suspects.splice(0))\n            this.#ready.push({ kind: 'apart', creates });",
    replace: ''
  },
  {
    name: 'no pause between attempts',
    file: retries,
    find: 'return backoff * (0.5 + this.#random() / 2)',
    replace: 'return 0'
  },
  {
    name: 'a close that does not wait for writes in flight',
    file: batching,
    find: 'if (!this.#isIdle)\n            await',
    replace: 'if (!this.#isIdle) void'
  },
  {
    name: 'more than one transaction at a time',
    file: batching,
    find: 'this.#inFlight < this.#writer.maxInFlight',
    replace: 'this.#inFlight <= this.#writer.maxInFlight'
  },
  {
    name: 'a dropped deadline: the timer is not started again',
    file: 'http/deadlines.js',
    find: 'if (this.#first !== undefined && this.#timer === undefined)',
    replace: 'if (false)'
  },
  {
    name: 'a dropped deadline: removing one also removes its neighbors',
    file: 'http/deadlines.js',
    find: 'previous.next = next',
    replace: 'previous.next = undefined'
  },
  {
    name: 'a deadline removed again after it has passed',
    file: 'http/create-plant.js',
    find: 'if (create.expired)\n            return',
    replace: ''
  },
  {
    name: 'queue places that are not released',
    file: 'http/create-plant.js',
    find: 'queue.pending--',
    replace: 'undefined'
  },
  {
    name: 'results of the thread assigned to the wrong plants',
    file: sqlite,
    find: 'outcomes?.[i] ?? 0',
    replace: 'outcomes?.[i + 1] ?? 0'
  }
]
