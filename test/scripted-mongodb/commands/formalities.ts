import type { Command } from './command.js'

/** Commands that are only to be answered well. */
export const formalities: Readonly<Record<string, Command>> = {
  ping: () => ({ ok: 1 }),
  endSessions: () => ({ ok: 1 }),
  buildInfo: () => ({ version: '7.0.0', versionArray: [7, 0, 0, 0], gitVersion: 'scripted', modules: [], ok: 1 }),
  getParameter: () => ({ featureCompatibilityVersion: { version: '7.0' }, ok: 1 }),
  // Ids are unique without an index of their own; no other index is kept.
  createIndexes: ({ request: { body } }) => ({ numIndexesBefore: 1, numIndexesAfter: 1 + body['indexes'].length, ok: 1 })
}
