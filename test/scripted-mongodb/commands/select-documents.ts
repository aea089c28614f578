import type { Document } from 'bson'
import { CommandError } from '../command-error.js'
import { idKey, type IdKey } from '../id-key.js'
import type { Member } from '../member.js'
import type { Stored } from '../memory.js'
import type { Request } from '../wire/request.js'

/** Whether `left` comes before `right` in the order of ids: numbers first, then the rest. */
function precedes (left: IdKey, right: IdKey): boolean {
  return typeof left === typeof right ? left < right : typeof left === 'bigint'
}

const COMPARISONS: Readonly<Record<string, (key: IdKey, operand: IdKey) => boolean>> = {
  $eq: (key, operand) => key === operand,
  $ne: (key, operand) => key !== operand,
  $gt: (key, operand) => precedes(operand, key),
  $gte: (key, operand) => !precedes(key, operand),
  $lt: (key, operand) => precedes(key, operand),
  $lte: (key, operand) => !precedes(operand, key)
}

/** The documents that a filter on `_id` selects and this request may see; `sort` by `_id`, 1 or -1. */
export function selectDocuments (member: Member, request: Request, collectionName: string, filter: Document = {}, sort: Document = {}): Document[] {
  const { memory } = member.deployment
  requireReadable(member, request)
  const committedOnly = !member.isPrimary || ['majority', 'linearizable', 'snapshot'].includes(request.body['readConcern']?.level)
  const collection = memory.collection(`${request.database}.${collectionName}`)
  const found = matching(collection, filter).filter(({ state }) => state === 'majority' || !committedOnly)

  const [field, direction] = Object.entries(sort)[0] ?? []
  if (field !== undefined) {
    if (field !== '_id') throw unsupported('sort', sort)
    const sign = Math.sign(Number(direction))
    found.sort((left, right) => left.key === right.key ? 0 : precedes(left.key, right.key) ? -sign : sign)
  }
  return found.map(({ document }) => document)
}

function requireReadable (member: Member, { body }: Request): void {
  const mode = body['$readPreference']?.mode ?? 'primary'
  if (!member.isPrimary && mode === 'primary') throw new CommandError({ code: 13435, message: 'not primary and secondaryOk=false' })
}

function matching (collection: Map<IdKey, Stored>, filter: Document): Stored[] {
  const { _id: condition, ...others } = filter
  if (Object.keys(others).length > 0) throw unsupported('filter', filter)
  if (condition === undefined) return [...collection.values()]

  const operators = Object.entries(condition as Document).filter(([name]) => name.startsWith('$'))
  if (operators.length === 0) return pick(collection, [condition])
  const [name, operand] = operators[0]!
  if (operators.length === 1 && name === '$in') return pick(collection, operand)
  return [...collection.values()].filter(({ key }) => operators.every(([name, operand]) => {
    const compare = COMPARISONS[name]
    if (compare === undefined) throw unsupported('filter', filter)
    return compare(key, idKey(operand))
  }))
}

function pick (collection: Map<IdKey, Stored>, ids: readonly unknown[]): Stored[] {
  const keys = new Set(ids.map((id) => idKey(id)))
  return [...keys].flatMap((key) => collection.get(key) ?? [])
}

/** A filter that would be misread in silence would make a test lie. */
function unsupported (what: string, value: Document): CommandError {
  return new CommandError({ code: 2, message: `the scripted MongoDB knows no such ${what}: ${JSON.stringify(value)}` })
}
