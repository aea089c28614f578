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
    ['an ordered insert: documents after a failure are not stored', 'ordered: false', 'ordered: true'],
    ['results in the order of the ids', 'inOrder[index] = results[at]', 'inOrder[at] = results[at]'],
    [
      'an attempt that is given up reported as not stored',
      "new Error('no response in time')",
      "Object.assign(new Error('late'), { name: 'MongoServerSelectionError' })"
    ]
  ],
  'stores/mongo/existing-plants.js': [
    ['an early 200: an existing plant that the majority lacks', "readConcern: 'majority'", "readConcern: 'local'"],
    ['a 200 for another plant: a name is not compared', 'name === plant.name &&', ''],
    ['a 200 for another plant: a tag is not compared', '&& (tag ?? undefined) === plant.tag', '']
  ],
  'stores/mongo/mongo-driver.js': [
    ['an early 200: the write does not wait for the majority', "w: 'majority'", 'w: 1']
  ],
  'stores/mongo/mongo-errors.js': [
    [
      'an unknown outcome reported as not stored: a server error without a label',
      "errorLabels.includes('NoWritesPerformed')",
      'true'
    ],
    ['a plant that was not sent reported as unknown: no connection in time', "'MongoWaitQueueTimeoutError',", '']
  ],
  'stores/mongo/mongo-outcomes.js': [
    ['an early 200: a write concern error is ignored', 'writeConcernError !== undefined', 'false'],
    ['an early 200: the number of inserted documents is ignored', 'Number(n) + errors.size === sent', 'true'],
    ['the wrong index of a write error', '[error.index, error]', '[Math.max(error.index - 1, 0), error]'],
    ['a plant that is too large is sent again and again', "['RangeError', 'BSONError']", '[]']
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
    ['a close that gives up pending plants without sending them', 'this.#outage.isOn ?', 'true ?'],
    ['more than one transaction at a time', 'length >= this.writer.maxInFlight', 'length > this.writer.maxInFlight'],
    ['a missing retry', 'isPermanent(error) || this.isClosed || !hasTime(create)', 'true'],
    ['a lost part of a batch', 'this.#pending.add(create)', 'if (index > 0) this.#pending.add(create)'],
    ['a timer that is not started again', 'this.#timer = undefined', 'undefined'],
    [
      'a deadline that is not watched',
      'this.#pending.takeUntil(this.clock.now() + MINIMUM_ATTEMPT_MS).forEach(giveUp)',
      'undefined'
    ]
  ],
  'stores/batching/outage.js': [
    ['a probe of a whole batch', 'this.batchLimit = 1;', ';'],
    ['a probe that is the last one', 'pauseAfter(failures), probe: undefined', 'pauseAfter(failures), probe: batch'],
    ['an outage without an end', 'this.#state = undefined;', ';'],
    ['hardly a pause between attempts', 'longest * (0.5 + this.random() / 2)', '1']
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
    ['bytes in the queue that are not released', 'this.#all.bytes -= this.#bytes', 'undefined'],
    ['places in the queue that are not released', 'this.#all.delete(this)', 'undefined']
  ]
}

export const bugs: readonly Bug[] = Object.entries(changes)
  .flatMap(([file, bugs]) => bugs.map(([name, find, replace]) => ({ name, file, find, replace })))
