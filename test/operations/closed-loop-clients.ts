import { connect, type Socket } from 'node:net'

export interface Tally {
  /** Requests that were answered, by status. */
  answers: Map<number, number>
  /** Connections that ended without the answer to a request that was sent. */
  cut: string[]
  /** Connections that were refused: nothing was sent on them. */
  refused: number
}

/**
 * Clients that each send a plant, wait for the answer, and send the next; they connect anew after `Connection: close`.
 * @returns what stops them, and tells how they fared
 */
export function closedLoopClients (address: string, count: number, token: string): () => Promise<Tally> {
  const { hostname, port } = new URL(address)
  const tally: Tally = { answers: new Map(), cut: [], refused: 0 }
  const stop = new AbortController()
  let id = Math.floor(Math.random() * 2 ** 48) * 10

  async function client (): Promise<void> {
    while (!stop.signal.aborted) {
      const socket = connect(Number(port), hostname)
      const connected = await new Promise<boolean>(resolve => {
        socket.once('connect', () => resolve(true))
        socket.once('error', () => resolve(false))
      })
      if (!connected) {
        tally.refused++
        await new Promise(resolve => setTimeout(resolve, 20))
        continue
      }
      // One that is always there, so that none between two answers ends this process.
      socket.on('error', () => {})
      let goOn = true
      while (goOn && !stop.signal.aborted) {
        const body = JSON.stringify({ id: ++id, name: 'Monstera' })
        socket.write(`POST /plants HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
        goOn = await answer(socket)
      }
      socket.destroy()
    }
  }

  /** @returns whether the connection goes on */
  async function answer (socket: Socket): Promise<boolean> {
    return new Promise(resolve => {
      let text = ''
      const cut = (reason: string) => {
        tally.cut.push(reason)
        settle(false)
      }
      const onError = (error: NodeJS.ErrnoException) => cut(`${error.code}`)
      const onEnd = () => cut(`ended after ${JSON.stringify(text.slice(0, 60))}`)
      const onData = (data: Buffer) => {
        text += data
        const head = text.indexOf('\r\n\r\n')
        const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
        if (head === -1 || length === undefined || text.length < head + 4 + Number(length)) return
        const status = Number(text.slice(9, 12))
        tally.answers.set(status, (tally.answers.get(status) ?? 0) + 1)
        settle(!/\r\nconnection: close/i.test(text))
      }
      const settle = (goOn: boolean) => {
        socket.off('data', onData).off('error', onError).off('end', onEnd)
        resolve(goOn)
      }
      socket.on('data', onData).on('error', onError).on('end', onEnd)
    })
  }

  const clients = Array.from({ length: count }, client)
  return async () => {
    stop.abort()
    await Promise.all(clients)
    return tally
  }
}
