// A server of MongoDB's protocol for findings: it answers what `hello` and `reply` say, and stores nothing.
// Copied into the finding's folder, where `bson` is installed.
import net from 'node:net'
import { deserialize, serialize } from 'bson'

const OP_QUERY = 2004
const OP_REPLY = 1
const OP_MSG = 2013

const primary = {
  isWritablePrimary: true,
  ismaster: true,
  maxBsonObjectSize: 16 * 1024 * 1024,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  minWireVersion: 0,
  maxWireVersion: 21,
  ok: 1
}

/**
 * @param {{ hello?: (port: number) => object, reply: (command: object, count: number) => object }} options
 * @returns {Promise<{ url: string, commands: object[], hellos: () => number, close: () => void }>}
 */
export async function scriptedMongoServer ({ hello = () => ({}), reply }) {
  const commands = []
  const sockets = new Set()
  let hellos = 0

  function answer (command) {
    const [name] = Object.keys(command)
    if (name === 'hello' || name === 'ismaster') {
      hellos++
      return { ...primary, ...hello(server.address().port) }
    }
    if (name === 'endSessions') return { ok: 1 }
    commands.push(command)
    return reply(command, commands.length)
  }

  const server = net.createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    let bytes = Buffer.alloc(0)
    socket.on('data', chunk => {
      bytes = Buffer.concat([bytes, chunk])
      while (bytes.length >= 4 && bytes.length >= bytes.readInt32LE(0)) {
        const message = bytes.subarray(0, bytes.readInt32LE(0))
        bytes = bytes.subarray(message.length)
        socket.write(respond(message, answer(read(message))))
      }
    })
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `mongodb://127.0.0.1:${server.address().port}/`,
    commands,
    hellos: () => hellos,
    close () {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  }
}

function read (message) {
  if (message.readInt32LE(12) === OP_QUERY) {
    const afterName = message.indexOf(0, 20) + 1
    return documentAt(message, afterName + 8)
  }
  const command = {}
  let at = 20
  while (at < message.length) {
    const kind = message[at]
    const size = message.readInt32LE(at + 1)
    if (kind === 0) {
      Object.assign(command, documentAt(message, at + 1))
    } else {
      const nameEnd = message.indexOf(0, at + 5)
      command[message.toString('latin1', at + 5, nameEnd)] = documentsBetween(message, nameEnd + 1, at + 1 + size)
    }
    at += 1 + size
  }
  return { ...command, bytes: message.length }
}

function documentAt (message, at) {
  return deserialize(message.subarray(at, at + message.readInt32LE(at)))
}

function documentsBetween (message, from, to) {
  const documents = []
  for (let at = from; at < to; at += message.readInt32LE(at)) documents.push(documentAt(message, at))
  return documents
}

function respond (request, reply) {
  const body = serialize(reply)
  const old = request.readInt32LE(12) === OP_QUERY
  const header = Buffer.alloc(old ? 36 : 21)
  header.writeInt32LE(header.length + body.length, 0)
  header.writeInt32LE(request.readInt32LE(4), 8)
  header.writeInt32LE(old ? OP_REPLY : OP_MSG, 12)
  if (old) header.writeInt32LE(1, 32)
  return Buffer.concat([header, body])
}
