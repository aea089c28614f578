import type { Db, Document } from 'mongodb'
import { describe, find, insert, responseOf, type Behaviour } from './behaviour.js'

// How the server responds to inserts that it cannot carry out, or only in part, asked with the driver alone.

/** The driver itself refuses to send one of 17 MiB. */
const TOO_LARGE = 16.5 * 1024 * 1024

export const insertBehaviours: readonly Behaviour[] = [
  { name: 'a duplicate in an unordered insert', observe: ({ database }) => duplicate(database) },
  { name: 'it is counted (`n`, write errors)', observe: ({ database }) => counts(database) },
  { name: 'a document of 16.5 MiB', observe: ({ database }) => tooLarge(database) },
  { name: 'an insert without documents', observe: ({ database }) => withoutDocuments(database) },
  { name: 'a document that a validator refuses', observe: ({ database }) => againstValidator(database) },
  { name: 'an insert into a view', observe: ({ database }) => intoView(database) }
]

/** Inserts three plants, of which the middle one is there already. */
async function insertBesideDuplicate (database: Db, collection: string): Promise<Document> {
  await insert(database, collection, [{ _id: 2n, name: 'Fern' }])
  const documents = [1n, 2n, 3n].map(_id => ({ _id, name: 'Ficus' }))
  return responseOf(database, { insert: collection, documents, ordered: false })
}

async function duplicate (database: Db): Promise<string> {
  const response = await insertBesideDuplicate(database, 'plants_with_a_duplicate')
  const [error] = response.writeErrors ?? []
  const index = error?.keyPattern === undefined ? 'its index is not named' : 'its index is named'
  const stored = await find(database, 'plants_with_a_duplicate', { filter: { name: 'Ficus' } })
  return `${describe(response)}; ${index}; ${stored.length} of 2 siblings stored`
}

async function counts (database: Db): Promise<string> {
  const { n, writeErrors = [] } = await insertBesideDuplicate(database, 'plants_counted')
  return `${n} + ${writeErrors.length} of 3`
}

async function tooLarge (database: Db): Promise<string> {
  const documents = [{ _id: 1n, name: 'x'.repeat(TOO_LARGE) }, { _id: 2n, name: 'Fern' }]
  const response = await responseOf(database, { insert: 'plants_too_large', documents, ordered: false })
  const siblings = await find(database, 'plants_too_large', { filter: { name: 'Fern' } })
  return `${describe(response)}; its sibling is ${siblings.length === 0 ? 'not ' : ''}stored`
}

async function withoutDocuments (database: Db): Promise<string> {
  return describe(await responseOf(database, { insert: 'plants_absent', documents: [] }))
}

async function againstValidator (database: Db): Promise<string> {
  const validator = { name: { $ne: 'refused' } }
  const created = await responseOf(database, { create: 'plants_validated', validator })
  if (Number(created.ok) !== 1) return `no validators: ${describe(created)}`
  const response = await responseOf(database, { insert: 'plants_validated', documents: [{ _id: 1n, name: 'refused' }] })
  const stored = await find(database, 'plants_validated')
  return `${describe(response)}; ${stored.length === 0 ? 'not ' : ''}stored`
}

async function intoView (database: Db): Promise<string> {
  await insert(database, 'plants_viewed', [{ _id: 1n, name: 'Fern' }])
  const created = await responseOf(database, { create: 'plants_view', viewOn: 'plants_viewed', pipeline: [] })
  if (Number(created.ok) !== 1) return `no views: ${describe(created)}`
  const response = await responseOf(database, { insert: 'plants_view', documents: [{ _id: 2n, name: 'Ficus' }] })
  const found = await find(database, 'plants_view', { filter: { name: 'Ficus' } })
  return `${describe(response)}; ${found.length === 0 ? 'not ' : ''}found in it`
}
