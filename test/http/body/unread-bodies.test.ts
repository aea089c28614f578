import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import plantStore from '../../../src/index.js'
import { host, tokens } from '../../support/http/hosts.js'
import { exchange, listen, RawConnection } from '../../support/http/raw-connection.js'
import { AUTHORIZATION, JSON_TYPE, serve } from '../../support/http/service.js'
import { forgetfulStore } from '../../support/stores/forgetful-store.js'

t.jobs = 4

const head = (...lines: string[]) => ['POST /plants HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n')
const BODY = '{"id":1,"name":"x"}'
const GOOD = head(AUTHORIZATION, JSON_TYPE, `Content-Length: ${BODY.length}`) + BODY

/**
 * Sends the whole request before reading anything, as Python's http.client does; returns the response or the error.
 */
async function sendAll (port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  const closed = new Promise<string>(resolve => {
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(`${error.code}`)).on('close', () => resolve(text))
  })
  await Promise.race([closed, new Promise(resolve => { socket.write(request, resolve) })])
  socket.setEncoding('latin1').on('data', (data: string) => { text += data })
  return closed
}

const body = 'x'.repeat(5_000_000)
const length = `Content-Length: ${body.length}`
const refused: Record<string, [status: number, request: string]> = {
  'a body over the limit': [413, head(AUTHORIZATION, JSON_TYPE, length) + body],
  'a body over the limit, in chunks': [413, `${head(AUTHORIZATION, JSON_TYPE, 'Transfer-Encoding: chunked')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
  'no credentials': [401, head(JSON_TYPE, length) + body],
  'an unknown token': [401, head('Authorization: Bearer an-unknown-token', JSON_TYPE, length) + body],
  'another media type': [415, head(AUTHORIZATION, 'Content-Type: text/plain', length) + body],
  'an unknown path': [404, head(length).replace('/plants', '/plant') + body],
  'another method': [405, head(length).replace('POST', 'PUT') + body],
  'no credentials, with Connection: close': [401, head(JSON_TYPE, 'Content-Length: 60000', 'Connection: close') + body.slice(0, 60_000)]
}

t.test('a client that sends the whole body before reading gets the response of a refused request', async t => {
  const store = forgetfulStore()
  const { port } = await serve(t, store)
  for (const [name, [status, request]] of Object.entries(refused)) {
    const responses = new Set<string>()
    for (let time = 0; time < 10; time++) responses.add((await sendAll(port, request)).slice(0, 12))
    t.strictSame([...responses], [`HTTP/1.1 ${status}`], name)
  }
  t.strictSame(store.plants, [])
})

t.test('in a host, a client that sends the whole body before reading also gets the response', async t => {
  const app = host(t)
  await app.register(plantStore, { store: forgetfulStore(), tokens })
  const port = await listen(app)
  for (const name of ['a body over the limit', 'no credentials', 'another media type'] as const) {
    const [status, request] = refused[name] ?? [0, '']
    for (let time = 0; time < 10; time++) t.match(await sendAll(port, request), `HTTP/1.1 ${status}`, name)
  }
})

/** Writes chunks until the connection is closed; returns how many megabytes were accepted. */
async function sendForever (port: number, request: string): Promise<number> {
  // The client keeps sending after the server has ended its side.
  const socket: Socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {}).resume().write(request)
  const closed = new Promise(resolve => { socket.once('close', resolve) })
  const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
  for (let megabytes = 0; ; megabytes++) {
    if (socket.destroyed || megabytes === 1_000) return megabytes
    if (!socket.write(chunk)) await Promise.race([closed, new Promise(resolve => { socket.once('drain', resolve) })])
  }
}

t.test('an endless body is cut off', async t => {
  const { port } = await serve(t, forgetfulStore())
  for (const [name, request] of Object.entries({
    'no credentials': head(JSON_TYPE, 'Transfer-Encoding: chunked'),
    'over the limit': head(AUTHORIZATION, JSON_TYPE, 'Transfer-Encoding: chunked'),
    'an unknown path': head('Transfer-Encoding: chunked').replace('/plants', '/'),
    'a request that needs no body': head('Transfer-Encoding: chunked').replace('POST /plants', 'GET /health/live'),
    'not HTTP': 'hello\r\n\r\n'
  })) {
    const megabytes = await sendForever(port, request)
    t.ok(megabytes < 100, `${name}: after ${megabytes} MB`)
  }
})

t.test('a client that neither sends nor closes is cut off after 5 s', async t => {
  const { port } = await serve(t, forgetfulStore())
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => { socket.destroy() })
  let reset = false
  socket.on('error', () => { reset = true }).resume().write(head(JSON_TYPE, length))
  await once(socket, 'end')
  await sleep(2_000)
  socket.write('x')
  await sleep(500)
  t.notOk(reset, 'after 2 s the server still reads')
  await sleep(6_500)
  // The first write reaches a closed connection, which answers with a reset; the second one then fails.
  for (let write = 0; write < 2; write++) {
    socket.write('x')
    await sleep(500)
  }
  t.ok(reset, 'after 6.5 s of silence it has closed the connection')
})

t.test('the connection stays open after an unread body of up to 64 KiB', async t => {
  const store = forgetfulStore()
  const { port } = await serve(t, store)
  const { answers } = await exchange(port, [head(JSON_TYPE, 'Content-Length: 65536'), 'x'.repeat(65_536) + GOOD], { expected: 2 })
  t.strictSame(answers.map(({ status }) => status), [401, 200])
  t.equal(store.plants.length, 1)
})

t.test('bytes after a longer unread body are not parsed as a request', async t => {
  const store = forgetfulStore()
  const { port } = await serve(t, store)
  for (const [header, rest] of [['Transfer-Encoding: chunked', '0\r\n\r\n'], [length, body]] as const) {
    const connection = await RawConnection.open(t, port)
    connection.write(head(JSON_TYPE, header))
    t.match(await connection.answer(), { status: 401, headers: { connection: 'close' } })
    connection.write(rest + GOOD)
    await connection.closed()
    t.strictSame(connection.answers, [])
  }
  t.strictSame(store.plants, [])
})
