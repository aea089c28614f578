import { selectDocuments } from './select-documents.js'
import type { Command } from './command.js'

/** Counts documents, for the driver's estimatedDocumentCount. */
export const count: Command = ({ request, member }) => {
  const { body } = request
  return { n: selectDocuments(member, request, body['count'], body['query']).length, ok: 1 }
}
