import type { Document } from 'bson'
import type { Command } from './command.js'

const TIMED_OUT = { code: 64, errmsg: 'waiting for replication timed out', errInfo: { wtimeout: true } }
const STEPPED_DOWN = { code: 189, errmsg: 'Primary stepped down while waiting for replication' }

/**
 * Waits until the write concern is satisfied (`majority` by default); returns the fields that its failure adds to the
 * answer.
 */
export async function acknowledge (
  { request: { body }, member, overrides }: Parameters<Command>[0]
): Promise<Document> {
  const { replication } = member.deployment
  const forMajority = (body['writeConcern']?.w ?? 'majority') === 'majority'
  // If the cue prevents replication, there is nothing to wait for, but nothing to acknowledge either.
  if (overrides.replicated === false) return forMajority ? { writeConcernError: TIMED_OUT } : {}
  replication.catchUp()
  if (!forMajority || await replication.majority()) return {}
  return { writeConcernError: STEPPED_DOWN }
}
