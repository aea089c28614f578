import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import t from 'tap'
import type { Test } from 'tap'
import { delayingProxy } from '../../bench/delaying-proxy.js'

async function through (t: Test, milliseconds: number, serve: (socket: Socket) => void): Promise<Socket> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy = await delayingProxy((server.address() as AddressInfo).port, '127.0.0.1', milliseconds)
  const socket = connect({ port: proxy.port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
  await once(socket, 'connect')
  t.teardown(async () => {
    socket.destroy()
    await proxy.close()
    server.close()
  })
  return socket
}

for (const milliseconds of [0, 1, 5, 20]) {
  t.test(`a server ${milliseconds} ms away answers so much later`, async (t) => {
    const socket = await through(t, milliseconds, (one) => one.pipe(one))
    const times: number[] = []
    for (let turn = 0; turn < 15; turn++) {
      const start = performance.now()
      socket.write('ping')
      await once(socket, 'data')
      times.push(performance.now() - start)
    }
    const median = times.sort((a, b) => a - b)[7] as number
    t.ok(median >= milliseconds - 0.6, `${median}`)
    t.ok(median < milliseconds + 10, `${median}`)
  })
}

t.test('many chunks are under way at once, and arrive whole and in order', async (t) => {
  const socket = await through(t, 40, (one) => one.pipe(one))
  const sent = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at % 251))
  const start = performance.now()
  const received: Buffer[] = []
  socket.on('data', (chunk) => received.push(chunk))
  for (let at = 0; at < sent.length; at += 1000) {
    socket.write(sent.subarray(at, at + 1000))
    if (at % 20_000 === 0) await new Promise(setImmediate)
  }
  socket.end()
  await once(socket, 'end')
  t.ok(sent.equals(Buffer.concat(received)))
  t.ok(performance.now() - start < 1000, 'not one delay after the other')
})

t.test('a connection that one side cuts is cut on the other', async (t) => {
  const socket = await through(t, 5, (one) => { setTimeout(() => one.destroy(), 10) })
  socket.resume()
  socket.on('error', () => {})
  socket.on('end', () => socket.end())
  await once(socket, 'close')
  t.pass('closed')
})
