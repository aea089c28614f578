import type { Document } from 'bson'
import type { Manner } from '../cue.js'
import type { Member } from '../member.js'
import type { Request } from '../wire/request.js'

/** A command of the server: carries a request out on a member and returns the answer; fails by a `CommandError`. */
export type Command = (context: { request: Request, member: Member, manner: Manner }) => Document | Promise<Document>
