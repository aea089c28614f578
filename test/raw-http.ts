import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'

export interface RawAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

/** A connection on which a test writes its own bytes, and reads answers that have a Content-Length. */
export class RawConnection {
  readonly socket: Socket
  #text = ''
  #wake: () => void = () => {}

  private constructor (socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.#text += text
      this.#wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => this.#wake())
  }

  static async open (t: Test, port: number): Promise<RawConnection> {
    const connection = new RawConnection(connect(port, '127.0.0.1'))
    t.teardown(() => { connection.socket.destroy() })
    await once(connection.socket, 'connect')
    return connection
  }

  /** Writes lines with CRLF behind each, and what comes after the empty line as it is. */
  write (...lines: string[]): this {
    this.socket.write(lines.join('\r\n'))
    return this
  }

  async answer (): Promise<RawAnswer> {
    for (;;) {
      const answer = this.#take()
      if (answer !== undefined) return answer
      if (this.socket.closed) throw new Error(`the connection was closed after ${JSON.stringify(this.#text)}`)
      await new Promise<void>(resolve => { this.#wake = resolve })
    }
  }

  async closed (): Promise<void> {
    if (!this.socket.closed) await once(this.socket, 'close')
  }

  #take (): RawAnswer | undefined {
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const [first = '', ...lines] = this.#text.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]))
    const length = Number(headers['content-length'] ?? 0)
    if (this.#text.length < end + 4 + length) return undefined
    const body = this.#text.slice(end + 4, end + 4 + length)
    this.#text = this.#text.slice(end + 4 + length)
    return { status: Number(first.split(' ')[1]), headers, body: Buffer.from(body, 'latin1').toString() }
  }
}

/** Lets an app listen on a free port, and returns the port. */
export async function listen (app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}
