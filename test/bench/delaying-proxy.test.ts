import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import t, { type Test } from 'tap'
import { startProcess } from '../../bench/run/start-process.js'

async function echoThrough (t: Test, milliseconds: number): Promise<Socket> {
  const server = createServer({ allowHalfOpen: true }, socket => { socket.pipe(socket) }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const proxy = await startProcess(new URL('../../bench/run/delaying-proxy.js', import.meta.url), {
    words: ['127.0.0.1', String(port), String(milliseconds)],
    logFile: join(t.testdir(), 'proxy.log')
  })
  const socket = connect({ port: Number(new URL(proxy.address).port), host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  t.teardown(async () => {
    socket.destroy()
    await proxy.stop()
    server.close()
  })
  return socket
}

t.test('the proxy adds the distance to each round trip', async t => {
  for (const milliseconds of [0, 5, 20]) {
    const socket = await echoThrough(t, milliseconds)
    const times: number[] = []
    for (let turn = 0; turn < 15; turn++) {
      const start = performance.now()
      socket.write('ping')
      await once(socket, 'data')
      times.push(performance.now() - start)
    }
    const median = times.sort((a, b) => a - b)[7] ?? 0
    t.ok(median >= milliseconds - 1 && median < milliseconds + 500, `${median}`)
  }
})
