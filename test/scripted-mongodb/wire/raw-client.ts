import { deserialize, serialize, type Document } from 'bson'
import { once } from 'node:events'
import { connect } from 'node:net'
import { FrameSplitter } from './frame-splitter.js'
import { OpCode } from './op-code.js'

/** Ways of sending that the driver would not choose. */
export interface SendOptions {
  /** As OP_QUERY instead of OP_MSG. */
  readonly legacy?: boolean
  /** With the checksum flag, and four bytes for it. */
  readonly checksum?: boolean
  /** One byte at a time. */
  readonly bytewise?: boolean
  /** One field's documents as a section of kind 1. */
  readonly sequence?: Readonly<Record<string, readonly Document[]>>
}

/** Connects to a member and returns a function that sends one command and resolves to its answer: no driver between. */
export async function rawClient (t: { teardown: (end: () => void) => unknown }, address: string) {
  const [host = '', port] = address.split(':')
  const socket = connect({ host, port: Number(port), noDelay: true })
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const frames = new FrameSplitter()
  let answered: (answer: Document) => void
  socket.on('data', (chunk) => {
    for (const frame of frames.push(chunk)) {
      answered(deserialize(frame.subarray(frame.readInt32LE(12) === OpCode.reply ? 36 : 21)))
    }
  })
  return async (command: Document, options: SendOptions = {}) => await new Promise<Document>((resolve) => {
    answered = resolve
    const bytes = frame(command, options)
    if (options.bytewise === true) for (const byte of bytes) socket.write(Buffer.of(byte))
    else socket.write(bytes)
  })
}

function frame (command: Document, { legacy = false, checksum = false, sequence = {} }: SendOptions): Buffer {
  const header = Buffer.alloc(16)
  const parts = legacy ? [Buffer.alloc(4), cstring('admin.$cmd'), Buffer.alloc(8), serialize(command)] : [flags(checksum), section(0, serialize(command))]
  for (const [field, documents] of Object.entries(sequence)) {
    const content = Buffer.concat([cstring(field), ...documents.map((document) => serialize(document))])
    const size = Buffer.alloc(4)
    size.writeInt32LE(content.length + 4)
    parts.push(section(1, Buffer.concat([size, content])))
  }
  if (checksum) parts.push(Buffer.alloc(4))
  const message = Buffer.concat([header, ...parts])
  message.writeInt32LE(message.length, 0)
  message.writeInt32LE(7, 4)
  message.writeInt32LE(legacy ? OpCode.query : OpCode.msg, 12)
  return message
}

function flags (checksum: boolean): Buffer {
  return Buffer.of(checksum ? 1 : 0, 0, 0, 0)
}

function section (kind: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(kind), bytes])
}

function cstring (text: string): Buffer {
  return Buffer.from(text + '\0')
}
