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
    ['an early 200: an existing plant that the majority lacks', "readConcern: 'majority'", "readConcern: 'local'"],
    ['an ordered insert: documents after a failure are not stored', 'ordered: false', 'ordered: true'],
    ['a plant that is too large is sent', 'refusalOfSize(first)', 'undefined']
  ],
  'stores/mongo/mongo-driver.js': [
    ['an early 200: the write does not wait for the majority', "w: 'majority'", 'w: 1']
  ],
  'stores/mongo/mongo-client-watch.js': [
    ['an insert is given up when connections to another server are lost', 'if (attempt.server === server)', 'if (true)']
  ],
  'stores/mongo/mongo-outcomes.js': [
    ['an early 200: a write concern error is ignored', 'writeConcernError !== undefined', 'false'],
    ['an early 200: the number of inserted documents is ignored', 'Number(n) + errors.size !== sent', 'false'],
    ['the wrong index of a write error', 'errors.set(index, error)', 'errors.set(Math.max(index - 1, 0), error)'],
    ['a 200 for another plant: a name is not compared', 'existing.name === plant.name &&', ''],
    ['a 200 for another plant: a tag is not compared', '&& existing.tag === plant.tag', ''],
    [
      'an unknown outcome reported as not stored: a server error without a label',
      "error.errorLabels?.includes('NoWritesPerformed')",
      'true'
    ],
    ['an unknown outcome reported as not stored: nothing is sent', 'isUnsent = !wasSent', 'isUnsent = true']
  ],
  'stores/batching/batch-queue.js': [
    [
      'an uncertain outcome reported as not stored after a later attempt',
      'earlier instanceof PlantOutcomeUnknown &&',
      'false &&'
    ],
    [
      'a write that rejects reported as not stored',
      "new PlantOutcomeUnknown('the write failed",
      "new PlantNotStored('the write failed"
    ],
    [
      'a write that rejects and keeps its place in flight',
      "results = new PlantOutcomeUnknown('the write failed in an unexpected way', { cause })",
      'return'
    ],
    [
      'a close that does not wait for writes in flight',
      '(this.#inFlight.length > 0 || !this.#pending.isEmpty())',
      '!this.#pending.isEmpty()'
    ],
    ['a close that gives up pending plants without sending them', 'this.#outage === undefined ?', 'false ?'],
    ['more than one transaction at a time', 'length >= this.writer.maxInFlight', 'length > this.writer.maxInFlight'],
    ['a missing retry', 'isPermanent(error) || this.isClosed || !hasTime(create)', 'true'],
    ['a plant that fails alone, and counts as an outage', 'this.#outage === undefined && isSuspect', 'false'],
    ['a lost part of a batch', 'this.#pending.add(create)', 'if (index > 0) this.#pending.add(create)'],
    ['a probe that is the last one', '#pause(failures), probe: undefined', '#pause(failures), probe: batch'],
    ['an outage without an end', 'this.#outage = undefined;', ';'],
    ['a timer that is not started again', 'this.#timer = undefined', 'undefined'],
    [
      'a deadline that is not watched',
      'this.#pending.takeUntil(this.clock.now() + MINIMUM_ATTEMPT_MS).forEach(giveUp)',
      'undefined'
    ],
    ['no pause between attempts', 'longest * (0.5 + this.random() / 2)', '0']
  ],
  'stores/batching/pending-creates.js': [
    ['plants that failed by themselves and wait without an end', 'failure.dueAt <= now', 'false'],
    ['a plant that is lost before it is sent', 'this.#head++', 'this.#head += 2']
  ],
  'stores/sqlite/sqlite-client.js': [
    [
      'an uncertain outcome reported as not stored: the thread died',
      "kind: 'unknown', message: 'the database thread exited'",
      "kind: 'busy', message: 'the database thread exited'"
    ],
    ['results of the thread assigned to the wrong plants', 'return answer.map', 'return answer.toReversed().map'],
    ['a tag that is not stored', 'rows.push([id, name, tag])', 'rows.push([id, name, null])']
  ],
  'route/pending-requests.js': [
    ['a dropped deadline', 'request.expire()', 'undefined'],
    ['bytes in the queue that are not released', 'this.all.bytes -= this.#bytes', 'undefined'],
    ['places in the queue that are not released', 'this.all.delete(this)', 'undefined']
  ]
}

export const bugs: readonly Bug[] = Object.entries(changes)
  .flatMap(([file, bugs]) => bugs.map(([name, find, replace]) => ({ name, file, find, replace })))
