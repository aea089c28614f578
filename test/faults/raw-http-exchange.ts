import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** An answer as its bytes were. */
export interface HttpAnswer {
  status: number
  headers: Map<string, string>
  body: string
}

export interface Exchange {
  answers: HttpAnswer[]
  /** Whether the server ended the connection. */
  closed: boolean
  /** Milliseconds until the last byte, or the end, came. */
  took: number
}

/** Milliseconds of silence after which nothing more is expected, once all expected answers have come. */
const SILENCE = 10

/**
 * Sends bytes on a connection of its own, in pieces where they are several, and takes in everything that comes back, until
 * the server closes or, after as many answers as are expected, is silent. What is sent need not be HTTP.
 * @param patience milliseconds for the answers
 */
export async function exchange (
  port: number, sent: string | Buffer | readonly (string | Buffer)[], { expected = 1, patience = 2_000 } = {}
): Promise<Exchange> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let bytes = Buffer.alloc(0)
  const began = performance.now()
  let last = began
  socket.on('data', chunk => { bytes = Buffer.concat([bytes, chunk]); last = performance.now() })
  socket.on('error', () => {})
  socket.on('close', () => { last = performance.now() })
  for (const [turn, piece] of (Array.isArray(sent) ? sent : [sent]).entries()) {
    if (turn > 0) await sleep(5)
    socket.write(piece as Buffer)
  }
  while (!socket.closed && performance.now() - began < patience && (answersIn(bytes).length < expected || performance.now() - last < SILENCE)) await sleep(2)
  const { closed } = socket
  socket.destroy()
  return { answers: answersIn(bytes), closed, took: last - began }
}

/** Goes away like a client that crashed: its connection is reset. */
export function vanish (socket: Socket): void {
  socket.resetAndDestroy()
}

/** The whole answers in a stream of bytes; of interim ones (100 Continue) the head alone. */
export function answersIn (bytes: Buffer): HttpAnswer[] {
  const answers: HttpAnswer[] = []
  let rest = bytes.toString('latin1')
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return answers
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = new Map(lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]))
    const status = Number(first.split(' ')[1])
    const length = Number(headers.get('content-length') ?? 0)
    if (rest.length < end + 4 + length) return answers
    answers.push({ status, headers, body: Buffer.from(rest.slice(end + 4, end + 4 + length), 'latin1').toString() })
    rest = rest.slice(end + 4 + length)
  }
}
