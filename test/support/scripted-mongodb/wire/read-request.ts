import { deserialize, type Document } from 'bson'
import { OpCode } from './op-code.js'
import type { Request } from './request.js'

const EXHAUST_ALLOWED = 1 << 16

/** Decodes one message (OP_MSG, or the OP_QUERY of a driver's handshake); throws on anything else. */
export function readRequest (frame: Buffer): Request {
  const opCode = frame.readInt32LE(12)
  if (opCode === OpCode.msg) return readMsg(frame)
  if (opCode === OpCode.query) return readQuery(frame)
  throw new RangeError(`opcode ${opCode} is not supported`)
}

function readMsg (frame: Buffer): Request {
  const flags = frame.readUInt32LE(16)
  const sequences: Document = {}
  let body: Document = {}
  for (let at = 20; at < frame.length;) {
    const kind = frame[at++]
    const size = frame.readInt32LE(at)
    if (kind === 0) {
      body = readDocument(frame, at)
    } else if (kind === 1) {
      const nameEnd = frame.indexOf(0, at + 4)
      sequences[frame.toString('utf8', at + 4, nameEnd)] = readDocuments(frame, nameEnd + 1, at + size)
    } else {
      throw new RangeError(`a section of kind ${kind} is not supported`)
    }
    at += size
  }
  return {
    ...describe(frame, Object.assign(body, sequences), body['$db']),
    allowsExhaust: (flags & EXHAUST_ALLOWED) !== 0,
    legacy: false
  }
}

function readQuery (frame: Buffer): Request {
  const nameEnd = frame.indexOf(0, 20)
  const query = readDocument(frame, nameEnd + 1 + 8)
  const [database] = frame.toString('utf8', 20, nameEnd).split('.')
  return { ...describe(frame, query['$query'] ?? query, database), allowsExhaust: false, legacy: true }
}

function describe (frame: Buffer, body: Document, database: string = 'admin') {
  const [name = ''] = Object.keys(body)
  const command = name.toLowerCase() === 'ismaster' ? 'hello' : name
  return { command, body, database, documents: body['documents'] ?? [], requestId: frame.readInt32LE(4) }
}

function readDocuments (frame: Buffer, from: number, to: number): Document[] {
  const documents: Document[] = []
  for (let at = from; at < to; at += frame.readInt32LE(at)) documents.push(readDocument(frame, at))
  return documents
}

function readDocument (frame: Buffer, index: number): Document {
  return deserialize(frame, { index, allowObjectSmallerThanBufferSize: true, promoteValues: false })
}
