import type { Document } from 'bson'
import { CommandError } from '../command-error.js'
import { selectDocuments } from './select-documents.js'
import type { Command } from './command.js'

/** Counts: `$match` on `_id`, then `$count`, or `$group` with one `$sum: 1`, as the driver's countDocuments sends it. */
export const aggregate: Command = ({ request, member }) => {
  const { body, database } = request
  const pipeline: Document[] = [...body['pipeline']]
  const filter = pipeline[0]?.['$match'] === undefined ? {} : pipeline.shift()!['$match']
  const [stage, ...rest] = pipeline
  const documents = selectDocuments(member, request, body['aggregate'], filter)
  const counted = counts(stage, documents.length)
  if (counted === undefined || rest.length > 0) {
    throw new CommandError({ code: 2, message: `the scripted MongoDB knows no such pipeline: ${JSON.stringify(body['pipeline'])}` })
  }
  const batch = documents.length > 0 ? [counted] : []
  return { cursor: { id: 0n, ns: `${database}.${body['aggregate']}`, firstBatch: batch }, ok: 1 }
}

function counts (stage: Document = {}, n: number): Document | undefined {
  if (typeof stage['$count'] === 'string') return { [stage['$count']]: n }
  const { _id, ...sums } = stage['$group'] ?? {}
  const [field, ...others] = Object.keys(sums)
  if (field === undefined || others.length > 0 || Number(sums[field].$sum) !== 1) return undefined
  return { _id, [field]: n }
}
