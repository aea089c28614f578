import { connect as connectPlain } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import type { Shot } from './cases.js'

export interface ConnectionListener {
  answered: (connection: HttpConnection, status: number, body: string) => void
  failed: (error: Error) => void
}

const endOfHead = Buffer.from('\r\n\r\n')

/** One keep-alive connection with one request at a time: no more of HTTP/1.1 than a load generator needs, at half of autocannon's cost. */
export class HttpConnection {
  shot: Shot | undefined
  /** When the request in flight should have started (open loop) or did (closed loop). */
  startedAt = 0
  readonly #socket: Socket
  readonly #listener: ConnectionListener
  #rest: Buffer | undefined
  #closing = false

  private constructor (socket: Socket, listener: ConnectionListener) {
    this.#socket = socket
    this.#listener = listener
    socket.setNoDelay(true)
    socket.on('data', (chunk) => { this.#read(chunk) })
    socket.on('error', (error) => { this.#fail(error) })
    socket.on('close', () => { this.#fail(new Error('the server closed a connection')) })
  }

  static async open (url: string, listener: ConnectionListener): Promise<HttpConnection> {
    const { protocol, hostname, port } = new URL(url)
    const secure = protocol === 'https:'
    const where = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (secure ? 443 : 80) }
    const socket = secure ? connectSecure(where) : connectPlain(where)
    await new Promise<void>((resolve, reject) => {
      socket.once(secure ? 'secureConnect' : 'connect', resolve)
      socket.once('error', reject)
    })
    socket.removeAllListeners('error')
    return new HttpConnection(socket, listener)
  }

  send (shot: Shot, startedAt: number): void {
    this.shot = shot
    this.startedAt = startedAt
    this.#socket.write(shot.text)
  }

  close (): void {
    this.#closing = true
    this.#socket.destroy()
  }

  #read (chunk: Buffer): void {
    const data = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = data
    const bodyAt = data.indexOf(endOfHead) + endOfHead.length
    if (bodyAt < endOfHead.length) return
    const head = data.toString('latin1', 0, bodyAt)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    if (length === null) {
      this.#fail(new Error(`an answer without Content-Length: ${head}`))
      return
    }
    const end = bodyAt + Number(length[1])
    if (data.length < end) return
    this.#rest = data.length > end ? data.subarray(end) : undefined
    this.#listener.answered(this, Number(head.slice(9, 12)), data.toString('utf8', bodyAt, end))
  }

  #fail (error: Error): void {
    if (this.#closing) return
    this.close()
    this.#listener.failed(error)
  }
}

export async function openConnections (url: string, count: number, listener: ConnectionListener): Promise<HttpConnection[]> {
  return await Promise.all(Array.from({ length: count }, async () => await HttpConnection.open(url, listener)))
}
