import type { Command } from './command.js'

/** The next batch of a result set. */
export const getMore: Command = ({ request: { body, database }, member }) => {
  const limit = Number(body['batchSize'] ?? 0) || Infinity
  const { id, batch } = member.cursors.more(Number(body['getMore']), limit)
  return { cursor: { id, ns: `${database}.${body['collection']}`, nextBatch: batch }, ok: 1 }
}
