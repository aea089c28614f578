import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'

export interface RawAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

/**
 * A connection on which a test writes its own bytes, and reads responses that have a Content-Length or, like 100
 * Continue, no body.
 */
export class RawConnection {
  readonly socket: Socket
  /** Responses that `answer` has not returned yet. */
  readonly answers: RawAnswer[] = []
  /** When the last bytes arrived or the connection closed, on the clock of `performance.now()`. */
  lastEventAt = performance.now()
  #text = ''
  #wake: () => void = () => {}

  constructor (port: number, host = '127.0.0.1') {
    this.socket = connect({ port, host, noDelay: true })
    this.socket.setEncoding('latin1')
    this.socket.on('data', (text: string) => {
      this.#text += text
      this.#takeAnswers()
      this.#notice()
    })
    this.socket.on('error', () => {})
    this.socket.on('close', () => this.#notice())
  }

  static async open (t: Test, port: number): Promise<RawConnection> {
    const connection = new RawConnection(port)
    t.teardown(() => { connection.socket.destroy() })
    await once(connection.socket, 'connect')
    return connection
  }

  /** Writes lines joined by CRLF; after an empty line, the last one is the body. */
  write (...lines: string[]): this {
    this.socket.write(lines.join('\r\n'))
    return this
  }

  async answer (): Promise<RawAnswer> {
    for (;;) {
      const answer = this.answers.shift()
      if (answer !== undefined) return answer
      if (this.socket.closed) throw new Error(`the connection was closed after ${JSON.stringify(this.#text)}`)
      await new Promise<void>(resolve => { this.#wake = resolve })
    }
  }

  async closed (): Promise<void> {
    // Not events.once, which rejects if the server resets the connection.
    if (!this.socket.closed) await new Promise(resolve => { this.socket.once('close', resolve) })
  }

  #notice (): void {
    this.lastEventAt = performance.now()
    this.#wake()
  }

  #takeAnswers (): void {
    for (;;) {
      const end = this.#text.indexOf('\r\n\r\n')
      if (end < 0) return
      const [first = '', ...lines] = this.#text.slice(0, end).split('\r\n')
      const headers = Object.fromEntries(lines.map(line => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }))
      const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0)
      if (this.#text.length < bodyEnd) return
      const body = Buffer.from(this.#text.slice(end + 4, bodyEnd), 'latin1').toString()
      this.answers.push({ status: Number(first.split(' ')[1]), headers, body })
      this.#text = this.#text.slice(bodyEnd)
    }
  }
}

export interface Exchange {
  answers: RawAnswer[]
  closed: boolean
  took: number
}

/** After this many milliseconds without a byte, no more are expected once all expected responses have arrived. */
const SILENCE_MS = 10

/**
 * Sends bytes, which need not be HTTP, on a new connection, in one or several pieces. Reads what the server sends until
 * it closes the connection or, after the expected number of responses, is silent.
 */
export async function exchange (
  port: number, sent: string | Buffer | readonly (string | Buffer)[],
  { expected = 1, timeoutMs = 10_000, host = '127.0.0.1' } = {}
): Promise<Exchange> {
  const began = performance.now()
  const connection = new RawConnection(port, host)
  const { socket, answers } = connection
  const pieces: readonly (string | Buffer)[] = Array.isArray(sent) ? sent : [sent]
  for (const [turn, piece] of pieces.entries()) {
    if (turn > 0) await sleep(5)
    socket.write(piece)
  }
  const isOver = () =>
    socket.closed || (answers.length >= expected && performance.now() - connection.lastEventAt > SILENCE_MS)
  while (performance.now() - began < timeoutMs && !isOver()) await sleep(2)
  const { closed } = socket
  socket.destroy()
  return { answers, closed, took: connection.lastEventAt - began }
}

export async function listen (app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}
