import type { Command } from './command.js'

/** Commands that are only acknowledged. */
export const noOps: Readonly<Record<string, Command>> = {
  ping: () => ({ ok: 1 }),
  endSessions: () => ({ ok: 1 }),
  killCursors: () => ({ ok: 1 }),
  dropDatabase: () => ({ ok: 1 })
}
