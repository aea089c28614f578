import type { Document } from 'bson'
import type { Overrides } from '../cue.js'
import type { Member } from '../member.js'
import type { Request } from '../wire/request.js'

/** A command: executes a request on a member and returns the answer, or throws a `CommandError`. */
export type Command = (
  context: { request: Request, member: Member, overrides: Overrides }
) => Document | Promise<Document>
