import { deserialize, serialize, type Document } from 'bson'
import type { Socket } from 'node:net'

const OP_REPLY = 1
const OP_QUERY = 2004
const OP_MSG = 2013
const MORE_TO_COME = 1 << 1
const EXHAUST_ALLOWED = 1 << 16
const AWAIT_CAPABLE = 8

/** A decoded message of a client: a command, and how to answer it. */
export interface Request {
  /** The command's name as the server's documentation spells it; `isMaster` in any spelling is `hello`. */
  readonly command: string
  /** The command. Its numbers are BSON objects (`Int32`, `Long`, `Double`), so that they are sent back unchanged. */
  readonly body: Document
  /** The documents of an insert. */
  readonly documents: readonly Document[]
  readonly database: string
  readonly requestId: number
  /** The client accepts a stream of answers to this one request (the driver's monitor does, for `hello`). */
  readonly allowsExhaust: boolean
  /** The message was an OP_QUERY, as a driver's first message is, and needs an OP_REPLY. */
  readonly legacy: boolean
}

/** Calls back with each message of a client; closes the connection at anything that is not supported. */
export function readRequests (socket: Socket, received: (request: Request) => void): void {
  let length: number | undefined
  socket.on('readable', () => {
    for (;;) {
      length ??= socket.read(4)?.readInt32LE(0)
      if (length === undefined) return
      try {
        const message: Buffer | null = socket.read(length - 4)
        if (message === null) return
        received(readRequest(message))
      } catch {
        socket.destroy()
        return
      }
      length = undefined
    }
  })
}

/** Decodes a message, without its length. */
function readRequest (message: Buffer): Request {
  const legacy = message.readInt32LE(8) === OP_QUERY
  const body = legacy ? readDocument(message, message.indexOf(0, 16) + 9) : readSections(message)
  const [name = ''] = Object.keys(body)
  return {
    command: name.toLowerCase() === 'ismaster' ? 'hello' : name,
    body,
    documents: body['documents'] ?? [],
    database: body['$db'],
    requestId: message.readInt32LE(0),
    allowsExhaust: !legacy && (message.readUInt32LE(12) & EXHAUST_ALLOWED) !== 0,
    legacy
  }
}

/** A command in OP_MSG: a document, and a sequence of documents for an array in it. */
function readSections (message: Buffer): Document {
  const body: Document = {}
  for (let at = 16; at < message.length;) {
    const isSequence = message[at++] === 1
    const end = at + message.readInt32LE(at)
    if (isSequence) {
      const nameEnd = message.indexOf(0, at + 4)
      const documents: Document[] = body[message.toString('utf8', at + 4, nameEnd)] = []
      for (at = nameEnd + 1; at < end; at += message.readInt32LE(at)) documents.push(readDocument(message, at))
    } else {
      Object.assign(body, readDocument(message, at))
    }
    at = end
  }
  return body
}

function readDocument (message: Buffer, index: number): Document {
  return deserialize(message, { index, allowObjectSmallerThanBufferSize: true, promoteValues: false })
}

/** A character of a stored text that is sent as bytes that are no UTF-8, as another program may have stored them. */
export const NO_UTF8 = '\uf8ff'
const BYTES_OF_NO_UTF8 = Buffer.from(NO_UTF8)

let lastId = 0

/** The bytes of the answer to a request, and its id. A client that allows it gets a stream of answers. */
export function writeAnswer (answer: Document, { requestId, legacy, allowsExhaust }: Request) {
  const document = Buffer.from(serialize(answer, { ignoreUndefined: true }))
  for (let at = document.indexOf(BYTES_OF_NO_UTF8); at >= 0; at = document.indexOf(BYTES_OF_NO_UTF8, at)) {
    document.fill(0xff, at, at + BYTES_OF_NO_UTF8.length)
  }
  const prefix = Buffer.alloc(legacy ? 36 : 21)
  const id = lastId = (lastId + 1) & 0x7fffffff
  prefix.writeInt32LE(prefix.length + document.length, 0)
  prefix.writeInt32LE(id, 4)
  prefix.writeInt32LE(requestId, 8)
  prefix.writeInt32LE(legacy ? OP_REPLY : OP_MSG, 12)
  prefix.writeInt32LE(legacy ? AWAIT_CAPABLE : allowsExhaust ? MORE_TO_COME : 0, 16)
  if (legacy) prefix.writeInt32LE(1, 32) // the number of documents; the cursor's id and position before it stay zero
  return { id, bytes: Buffer.concat([prefix, document]) }
}
