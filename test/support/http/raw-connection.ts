import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'

export interface RawAnswer {
  status: number
  /** By their names in lower case. */
  headers: Record<string, string>
  body: string
}

/**
 * A connection on which a test writes its own bytes, and reads answers that have a Content-Length; of interim ones (100
 * Continue) the head alone.
 */
export class RawConnection {
  readonly socket: Socket
  /** Answers that `answer` has not returned yet. */
  readonly answers: RawAnswer[] = []
  /** When the last bytes came, or the end, as `performance.now()` counts. */
  lastEventAt = performance.now()
  #text = ''
  #wake: () => void = () => {}

  constructor (port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.setEncoding('latin1')
    this.socket.on('data', (text: string) => {
      this.#text += text
      this.#takeAnswers()
      this.#notice()
    })
    this.socket.on('error', () => {})
    this.socket.on('close', () => this.#notice())
  }

  /** Connects; the connection is destroyed after the test. */
  static async open (t: Test, port: number): Promise<RawConnection> {
    const connection = new RawConnection(port)
    t.teardown(() => { connection.socket.destroy() })
    await once(connection.socket, 'connect')
    return connection
  }

  /** Writes lines with CRLF behind each, and what comes after the empty line as it is. */
  write (...lines: string[]): this {
    this.socket.write(lines.join('\r\n'))
    return this
  }

  /** Takes the next answer, also one to come. */
  async answer (): Promise<RawAnswer> {
    for (;;) {
      const answer = this.answers.shift()
      if (answer !== undefined) return answer
      if (this.socket.closed) throw new Error(`the connection was closed after ${JSON.stringify(this.#text)}`)
      await new Promise<void>(resolve => { this.#wake = resolve })
    }
  }

  async closed (): Promise<void> {
    if (!this.socket.closed) await once(this.socket, 'close')
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
      const headers = Object.fromEntries(lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]))
      const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0)
      if (this.#text.length < bodyEnd) return
      this.answers.push({ status: Number(first.split(' ')[1]), headers, body: Buffer.from(this.#text.slice(end + 4, bodyEnd), 'latin1').toString() })
      this.#text = this.#text.slice(bodyEnd)
    }
  }
}

export interface Exchange {
  answers: RawAnswer[]
  /** Whether the server closed the connection. */
  closed: boolean
  /** Milliseconds until the last byte, or the end, came. */
  took: number
}

/** Milliseconds without a byte after which no more is expected, once all expected answers have come. */
const SILENCE = 10

/**
 * Sends bytes, which need not be HTTP, on a connection of its own, in pieces if there are several, and takes in
 * everything that comes back, until the server closes or, after as many answers as are expected, is silent.
 */
export async function exchange (
  port: number, sent: string | Buffer | readonly (string | Buffer)[], { expected = 1, timeoutMs = 10_000 } = {}
): Promise<Exchange> {
  const began = performance.now()
  const connection = new RawConnection(port)
  const { socket, answers } = connection
  const pieces: readonly (string | Buffer)[] = Array.isArray(sent) ? sent : [sent]
  for (const [turn, piece] of pieces.entries()) {
    if (turn > 0) await sleep(5)
    socket.write(piece)
  }
  const isOver = () =>
    socket.closed || (answers.length >= expected && performance.now() - connection.lastEventAt > SILENCE)
  while (performance.now() - began < timeoutMs && !isOver()) await sleep(2)
  const { closed } = socket
  socket.destroy()
  return { answers, closed, took: connection.lastEventAt - began }
}

/** Lets an app listen on a free port, and returns the port. */
export async function listen (app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}
