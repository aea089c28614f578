import { CommandError } from '../command-error.js'
import type { Command } from './command.js'
import { readAll } from './find.js'

/** Counts all documents of a collection, by the pipeline of the driver's `countDocuments`. */
export const aggregate: Command = ({ request, member }) => {
  const { body: { pipeline, ...body }, database } = request
  if (JSON.stringify(pipeline) !== '[{"$match":{}},{"$group":{"_id":1,"n":{"$sum":1}}}]') {
    throw new CommandError({ code: 2, message: `this pipeline is not supported: ${JSON.stringify(pipeline)}` })
  }
  const n = readAll(member, request, body['aggregate']).length
  return { cursor: { id: 0n, ns: `${database}.${body['aggregate']}`, firstBatch: n > 0 ? [{ _id: 1, n }] : [] }, ok: 1 }
}
