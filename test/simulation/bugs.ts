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
      "error.errorLabels?.includes('NoWritesPerformed')",
      'true'
    ],
    ['an unknown outcome reported as not stored: a command that was sent counts as not sent', 'const wasNotSent = isUnsent', 'const wasNotSent = true']
  ],
  'stores/batching/batch-queue.js': [
    ['an uncertain outcome reported as not stored after a later attempt', 'if (!(create.earlierError instanceof PlantOutcomeUnknown))', 'if (true)'],
    ['a close that does not wait for writes in flight', 'this.#inFlight + this.#pending.length > 0', 'this.#pending.length > 0'],
    ['a close that gives up pending plants without sending them', '(create.earlierError === undefined && !isFailing)', 'false'],
    ['more than one transaction at a time', 'this.#inFlight >= this.writer.maxInFlight', 'this.#inFlight > this.writer.maxInFlight'],
    ['a missing retry', 'return !isLast || giveUp(create)', 'return false'],
    ['a lost part of a batch that is sent again', 'again.concat(', 'again.slice(1).concat('],
    ['a probe that is the last one', 'this.#probe = undefined', 'undefined'],
    ['plants that failed by themselves and wait without an end', 'now + backoff(create.failures++)', 'Infinity'],
    ['a timer that is not started again', 'this.#timer = undefined', 'undefined'],
    ['a deadline that is not watched', 'create.deadline > late || giveUp(create)', 'true'],
    ['no pause between attempts', '0.5 + this.random() / 2', '0']
  ],
  'stores/sqlite/sqlite-client.js': [
    ['an uncertain outcome reported as not stored: the thread died', "exited', outcomeUnknown: true", "exited'"],
    ['results of the thread assigned to the wrong plants', 'return answer.map', 'return answer.toReversed().map'],
    ['a tag that is not stored', 'tag = null }) => [id, name, tag]', 'tag = null }) => [id, name, null]']
  ],
  'route/create-plant.js': [
    ['a dropped deadline', '}, storeTimeout);', '}, 2 ** 30);'],
    ['bytes in the queue that are not released', 'limits.bytes -= bytes', 'undefined'],
    ['places in the queue that are not released', '--limits.pending', 'undefined']
  ]
}

export const bugs: readonly Bug[] = Object.entries(changes)
  .flatMap(([file, bugs]) => bugs.map(([name, find, replace]) => ({ name, file, find, replace })))
