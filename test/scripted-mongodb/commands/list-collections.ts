import type { Command } from './command.js'

/** The collections of the request's database. */
export const listCollections: Command = ({ request: { database, body }, member }) => {
  const names = member.deployment.memory.namespaces
    .filter((namespace) => namespace.startsWith(`${database}.`))
    .map((namespace) => namespace.slice(database.length + 1))
    .filter((name) => body['filter']?.name === undefined || body['filter'].name === name)
  const firstBatch = names.map((name) => ({ name, type: 'collection', options: {}, info: { readOnly: false } }))
  return { cursor: { id: 0n, ns: `${database}.$cmd.listCollections`, firstBatch }, ok: 1 }
}
