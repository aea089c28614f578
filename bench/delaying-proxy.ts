import { performance } from 'node:perf_hooks'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export interface DelayingProxy { port: number, close: () => Promise<void> }

/**
 * A TCP proxy that puts a server `milliseconds` away: half there, half back, in whole milliseconds, their sum kept. A line
 * is a delay, not a narrow pipe: any number of chunks may be under way at once.
 */
export async function delayingProxy (port: number, host: string, milliseconds: number): Promise<DelayingProxy> {
  const there = Math.ceil(milliseconds / 2)
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const upstream = connect({ port, host, noDelay: true, allowHalfOpen: true })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', (hadError) => {
        sockets.delete(socket)
        // A clean end has put itself in the queue, behind what is still under way.
        if (!hadError) return
        client.destroy()
        upstream.destroy()
      })
      socket.on('error', () => {})
    }
    delayed(client, upstream, there)
    delayed(upstream, client, milliseconds - there)
  })
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  return {
    port: (server.address() as AddressInfo).port,
    async close () {
      sockets.forEach((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** One queue and at most one timer for a direction, however many chunks wait; the queue is what keeps the order. */
function delayed (from: Socket, to: Socket, milliseconds: number): void {
  if (milliseconds === 0) {
    from.pipe(to)
    return
  }
  const waiting: Array<{ due: number, chunk: Buffer | null }> = []
  let timer: NodeJS.Timeout | undefined
  from.on('data', (chunk) => put(chunk))
  from.on('end', () => put(null))
  to.on('close', () => clearTimeout(timer))

  function put (chunk: Buffer | null): void {
    const due = performance.now() + milliseconds
    waiting.push({ due, chunk })
    timer ??= later(due)
  }

  // A timer comes up to a millisecond late: it is set for the millisecond before.
  function later (due: number): NodeJS.Timeout {
    return setTimeout(release, Math.max(1, Math.trunc(due - performance.now() - 0.5)))
  }

  function release (): void {
    // What is due within half a millisecond goes along: some chunks are that early, others that late.
    const now = performance.now() + 0.5
    while (waiting.length > 0 && (waiting[0] as { due: number }).due <= now) {
      const { chunk } = waiting.shift() as { chunk: Buffer | null }
      if (chunk === null) to.end()
      else to.write(chunk)
    }
    const next = waiting[0]
    timer = next === undefined ? undefined : later(next.due)
  }
}
