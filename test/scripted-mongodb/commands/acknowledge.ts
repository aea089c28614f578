import type { Document } from 'bson'
import type { Command } from './command.js'

const TIMED_OUT = { code: 64, codeName: 'WriteConcernFailed', errmsg: 'waiting for replication timed out', errInfo: { wtimeout: true } }
const STEPPED_DOWN = { code: 189, codeName: 'PrimarySteppedDown', errmsg: 'Primary stepped down while waiting for replication' }

/** Waits for what the write concern asks for (the majority, unless it says otherwise); returns what its failure adds to the answer. */
export async function acknowledge ({ request: { body }, member, manner }: Parameters<Command>[0]): Promise<Document> {
  const { replication } = member.deployment
  const { w = 'majority', wtimeout = 0 } = body['writeConcern'] ?? {}
  const forMajority = w === 'majority' || Number(w) > 1
  if (manner.replicated === false) {
    // The cue keeps the secondaries from it: there is nothing to wait for, but nothing to acknowledge either.
    return forMajority ? { writeConcernError: TIMED_OUT } : {}
  }
  replication.catchUp()
  if (!forMajority) return {}
  switch (await replication.majority(Number(wtimeout))) {
    case 'majority': return {}
    case 'timed out': return { writeConcernError: TIMED_OUT }
    case 'stepped down': return {
      writeConcernError: STEPPED_DOWN,
      ...(body['txnNumber'] !== undefined && { errorLabels: ['RetryableWriteError'] })
    }
  }
}
