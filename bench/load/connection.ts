import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectSecurely } from 'node:tls'

type OnAnswer = (status: number, body: string) => void

/** For one request at a time. */
export interface Connection { send: (request: string, onAnswer: OnAnswer) => void, close: () => void }

/** Opens connections that are kept alive, with only the parts of HTTP/1.1 that a load generator needs. */
export async function openConnections (
  url: string, count: number, onFault: (error: Error) => void
): Promise<Connection[]> {
  return await Promise.all(Array.from({ length: count }, async () => await openConnection(url, onFault)))
}

async function openConnection (url: string, onFault: (error: Error) => void): Promise<Connection> {
  const { protocol, hostname, port } = new URL(url)
  const isSecure = protocol === 'https:'
  const target = { host: hostname.replace(/[[\]]/g, ''), port: Number(port || (isSecure ? 443 : 80)) }
  const socket = isSecure ? connectSecurely(target) : connect(target)
  await once(socket, isSecure ? 'secureConnect' : 'connect')
  socket.setNoDelay(true)

  let received: Buffer = Buffer.alloc(0)
  let pending: OnAnswer | undefined
  const closed = new Error('the server closed a connection')
  socket.on('error', onFault)
  // At the end of a round, a server may close a connection that is idle while others still wait.
  socket.on('end', () => { if (pending !== undefined) onFault(closed) })
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const head = /^.*?\r\n\r\n/s.exec(received.toString('latin1'))?.[0]
    if (head === undefined) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length === undefined) return onFault(new Error(`a response without Content-Length: ${head}`))
    const end = head.length + Number(length)
    if (received.length < end) return
    const body = received.toString('utf8', head.length, end)
    received = received.subarray(end)
    const onAnswer = pending
    pending = undefined
    onAnswer?.(Number(head.slice(9, 12)), body)
  })
  return {
    send (request, onAnswer) {
      if (socket.readableEnded) return onFault(closed)
      pending = onAnswer
      socket.write(request)
    },
    close: () => socket.destroy()
  }
}
