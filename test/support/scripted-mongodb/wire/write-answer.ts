import { serialize, type Document } from 'bson'
import { OpCode } from './op-code.js'

const MORE_TO_COME = 1 << 1
const AWAIT_CAPABLE = 8

let lastId = 0

/** How an answer is framed: to which request, as OP_REPLY if `legacy`, and whether more answers to it follow. */
export interface Framing {
  readonly responseTo: number
  readonly legacy?: boolean
  readonly moreToCome?: boolean
}

/** The bytes of one answer, OP_MSG or OP_REPLY, and its id. */
export function writeAnswer (answer: Document, { responseTo, legacy = false, moreToCome = false }: Framing) {
  const document = serialize(answer, { ignoreUndefined: true })
  const prefix = Buffer.alloc(legacy ? 36 : 21)
  const id = lastId = (lastId + 1) & 0x7fffffff
  prefix.writeInt32LE(prefix.length + document.length, 0)
  prefix.writeInt32LE(id, 4)
  prefix.writeInt32LE(responseTo, 8)
  prefix.writeInt32LE(legacy ? OpCode.reply : OpCode.msg, 12)
  if (legacy) {
    prefix.writeInt32LE(AWAIT_CAPABLE, 16)
    prefix.writeInt32LE(1, 32) // the number of documents; the cursor's id and position before it stay zero
  } else {
    prefix.writeUInt32LE(moreToCome ? MORE_TO_COME : 0, 16)
  }
  return { id, bytes: Buffer.concat([prefix, document]) }
}
