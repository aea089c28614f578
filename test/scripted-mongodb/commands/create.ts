import { CommandError } from '../command-error.js'
import type { Command } from './command.js'

/** Makes a collection, once. */
export const create: Command = ({ request: { database, body }, member }) => {
  const { memory } = member.deployment
  const namespace = `${database}.${body['create']}`
  if (!member.isPrimary) throw new CommandError({ code: 10107, message: 'not primary' })
  if (memory.namespaces.includes(namespace)) {
    throw new CommandError({ code: 48, codeName: 'NamespaceExists', message: `Collection ${namespace} already exists.` })
  }
  memory.collection(namespace)
  return { ok: 1 }
}
