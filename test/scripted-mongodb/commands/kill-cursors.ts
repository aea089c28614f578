import { Long } from 'bson'
import type { Command } from './command.js'

/** Forgets result sets. */
export const killCursors: Command = ({ request: { body }, member }) => {
  const ids: number[] = body['cursors'].map(Number)
  const killed = ids.filter((id) => member.cursors.kill(id))
  const missing = ids.filter((id) => !killed.includes(id))
  return {
    cursorsKilled: killed.map((id) => Long.fromNumber(id)),
    cursorsNotFound: missing.map((id) => Long.fromNumber(id)),
    cursorsAlive: [],
    cursorsUnknown: [],
    ok: 1
  }
}
