/** A mistake that somebody could make: a change of the compiled program that the simulation has to find. */
export interface Bug {
  name: string
  /** Below `src`. */
  file: string
  find: string
  replace: string
}

const batching = 'stores/batching.js'
const retries = 'stores/retries.js'
const mongo = 'stores/mongo/mongo-writer.js'
const sqlite = 'stores/sqlite/sqlite-client.js'

export const bugs: readonly Bug[] = [
  {
    name: 'a 200 that is too early: a write concern error is not looked at',
    file: mongo,
    find: 'const open = writeConcernError && new',
    replace: 'const open = undefined && new'
  },
  {
    name: 'a 200 that is too early: the write does not wait for the majority',
    file: mongo,
    find: "w: 'majority'",
    replace: 'w: 1'
  },
  {
    name: 'a 200 that is too early: what is there already is read before the majority has it',
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
    name: 'an open outcome turned into not stored: an error of the server without a label',
    file: mongo,
    find: "error.errorLabels?.includes('NoWritesPerformed') === true",
    replace: 'true'
  },
  {
    name: 'an open outcome turned into not stored: a command that was sent counts as not sent',
    file: mongo,
    find: 'this.#sent?.add(command.comment)',
    replace: 'undefined'
  },
  {
    name: 'an open outcome turned into not stored by a later try',
    file: batching,
    find: 'if (!(create.failure instanceof PlantPerhapsStored))',
    replace: 'if (true)'
  },
  {
    name: 'an open outcome turned into not stored: the death of the thread',
    file: sqlite,
    find: 'perhapsStored = this.#lastAnswer === undefined',
    replace: 'perhapsStored = false'
  },
  {
    name: 'a forgotten retry: what failed by itself',
    file: retries,
    find: "this.#sendLater({ kind: 'queued', creates })",
    replace: 'undefined'
  },
  {
    name: 'a lost sibling: one half after a split',
    file: retries,
    find: 'this.#suspects.push(creates.slice(half))',
    replace: 'undefined'
  },
  {
    name: 'suspects that wait on although a write has succeeded, and no timer',
    file: retries,
    find: "for (const creates of this.#suspects.splice(0))\n            this.#ready.push({ kind: 'apart', creates });",
    replace: ''
  },
  {
    name: 'no pause between the tries',
    file: retries,
    find: 'return backoff * (0.5 + this.#random() / 2)',
    replace: 'return 0'
  },
  {
    name: 'close that does not wait for what is in flight',
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
    name: 'a dropped deadline: one that is removed takes its neighbours along',
    file: 'http/deadlines.js',
    find: 'previous.next = next',
    replace: 'previous.next = undefined'
  },
  {
    name: 'a deadline that has passed is removed once more',
    file: 'http/create-plant.js',
    find: 'if (create.expired)\n            return',
    replace: ''
  },
  {
    name: 'places in the queue that are not given back',
    file: 'http/create-plant.js',
    find: 'queue.pending--',
    replace: 'undefined'
  },
  {
    name: 'results of the thread out of step with the plants',
    file: sqlite,
    find: 'outcomes?.[i] ?? 0',
    replace: 'outcomes?.[i + 1] ?? 0'
  }
]
