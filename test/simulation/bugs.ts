/** A plausible mistake, as a change to the compiled program, which the simulation must find. */
export interface Bug {
  name: string
  /** Below `src`. */
  file: string
  find: string
  replace: string
}

const changes: Record<string, [name: string, find: string, replace: string][]> = {
  'stores/mongo/mongo-writer.js': [
    ['an early 200: a write concern error is ignored', 'const unknown = writeConcernError && new', 'const unknown = undefined && new'],
    ['an early 200: the write does not wait for the majority', "w: 'majority'", 'w: 1'],
    ['an early 200: an existing plant is read before it reaches the majority', "readConcern: 'majority'", "readConcern: 'local'"],
    ['the wrong index of a write error', 'results[error.index] = writeFailure(error)', 'results[Math.max(error.index - 1, 0)] = writeFailure(error)'],
    ['an ordered insert: documents after a failure are not stored', 'ordered: false', 'ordered: true']
  ],
  'stores/mongo/mongo-outcomes.js': [
    ['a 200 for another plant: a name is not compared', 'existing.name === name &&', ''],
    ['a 200 for another plant: a tag is not compared', '&& existing.tag === tag', ''],
    [
      'an unknown outcome reported as not stored: a server error without a label',
      "errorLabels?.includes('NoWritesPerformed') === true",
      'true'
    ],
    ['an unknown outcome reported as not stored: a command that was sent counts as not sent', 'const wasNotSent = isUnsent', 'const wasNotSent = true']
  ],
  'stores/batching/shared-writes.js': [
    ['an uncertain outcome reported as not stored after a later attempt', 'if (!(create.failure instanceof PlantOutcomeUnknown))', 'if (true)'],
    ['a close that does not wait for writes in flight', 'if (!this.#isIdle)\n            await', 'if (!this.#isIdle) void'],
    ['a close that gives up pending plants without sending them', 'this.#retries.holdsBack ? this.#queue.splice(0) : []', 'this.#queue.splice(0)'],
    ['more than one transaction at a time', 'this.#inFlight < this.#writer.maxInFlight', 'this.#inFlight <= this.#writer.maxInFlight']
  ],
  'stores/sqlite/sqlite-client.js': [
    ['an uncertain outcome reported as not stored: the thread died', 'outcomeUnknown: this.#lastAnswer === undefined', 'outcomeUnknown: false'],
    ['results of the thread assigned to the wrong plants', 'return answer.outcomes ??', 'return answer.outcomes?.toReversed() ??'],
    ['a tag that is not stored', 'tag = null }) => [id, name, tag]', 'tag = null }) => [id, name, null]']
  ],
  'stores/batching/retries.js': [
    ['a missing retry of plants that failed on their own', 'this.#later.set(timer, creates);', 'undefined'],
    ['a lost half of a batch after a split', 'this.#suspects.push(creates.slice(half))', 'undefined'],
    [
      'suspects that keep waiting after a write has succeeded, without a timer',
      'this.#ready.push(...this.#suspects.splice(0));',
      ''
    ],
    ['a close after which a retry is still sent', 'timer.clear();\n        this.#later.clear();', ';'],
    ['no pause between attempts', 'return backoff * (0.5 + this.#random() / 2)', 'return 0']
  ],
  'http/create-plant.js': [
    ['a dropped deadline', '}, storeTimeout);', '}, 2 ** 30);'],
    ['bytes in the queue that are not released', 'queue.bytes -= bytes', 'undefined'],
    ['queue places that are not released', 'queue.pending--', 'undefined']
  ]
}

export const bugs: readonly Bug[] = Object.entries(changes)
  .flatMap(([file, bugs]) => bugs.map(([name, find, replace]) => ({ name, file, find, replace })))
