import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import plantStore from '../../src/index.js'
import type { CreateOutcome, PlantStore } from '../../src/stores/plant-store.js'
import { host, tokens } from '../support/http/hosts.js'
import { exchange, listen, RawConnection } from '../support/http/raw-connection.js'
import { answersError, AUTHORIZATION, buildService, HEAD, JSON_TYPE, serve } from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { until } from '../support/until.js'

const TOO_LARGE = /^The pending create requests are too large; this request did not store the plant: retry later$/

/** A plant as JSON with a given number of bytes. */
const plant = (bytes: number, id = 1) => `{"id":${id},"name":"${'x'.repeat(bytes - 17 - String(id).length)}"}`

/** A store whose create requests are settled by the test; a plant with the id 0 is stored immediately. */
function slowStore (): { store: PlantStore, settle: ((outcome: CreateOutcome) => void)[] } {
  const settle: ((outcome: CreateOutcome) => void)[] = []
  const store: PlantStore = { create: async ({ id }) => id === 0n ? 'stored' : new Promise(resolve => { settle.push(resolve) }) }
  return { store, settle }
}

async function serveSlowStore (t: Test, configuration = {}) {
  const { store, settle } = slowStore()
  const { port, queue, create: send } = await serve(t, store, { QUEUE_BYTES: 1_000, ...configuration })
  const create = async (bytes: number, id = 0) => (await send(plant(bytes, id))).statusCode
  /** Resolves when exactly this number of bytes is held. */
  const held = (bytes: number) => until(() => queue.bytes === bytes)
  return { send, settle, port, create, held, connect: () => RawConnection.open(t, port) }
}

t.test('a create request that would exceed QUEUE_BYTES is 503, 50301, until there is room again', async t => {
  const { create, held, send, settle } = await serveSlowStore(t)
  t.equal(plant(300, 12).length, 300)
  const pending = [1, 2, 3].map(id => create(300, id))
  await until(() => settle.length === 3)
  const refused = await send(plant(101))
  answersError(t, refused, 50301, TOO_LARGE)
  t.match(refused.headers['retry-after'], /^[1-9]\d*$/)
  t.equal(await create(100), 200, 'a body that fits is accepted')
  settle[0]?.('stored')
  t.equal(await pending[0], 200)
  t.equal(await create(400), 200)
  for (const resolve of settle) resolve('stored')
  await Promise.all(pending)
  t.equal(await create(1_000), 200)
  await held(0)
})

t.test('a create request is refused before its body is read if its Content-Length exceeds the remaining bytes', async t => {
  const { connect, create, settle } = await serveSlowStore(t)
  const pending = create(600, 1)
  await until(() => settle.length === 1)
  const answer = await (await connect()).write(...HEAD, 'Content-Length: 401', '', '').answer()
  t.match(answer, { status: 503, headers: { 'retry-after': /^\d+$/ }, body: TOO_LARGE.source.slice(1, -1) })
  settle[0]?.('stored')
  t.equal(await pending, 200)
})

t.test('announced bytes that have not arrived do not count', async t => {
  const { connect, create } = await serveSlowStore(t)
  for (let client = 0; client < 10; client++) (await connect()).write(...HEAD, 'Content-Length: 1000', '', '')
  await sleep(50)
  t.equal(await create(1_000), 200)
})

t.test('bytes received count until the body is complete or the client disconnects', async t => {
  const { connect, create, held } = await serveSlowStore(t, { QUEUE_BYTES: 12_000 })
  const body = plant(9_000, 0)
  const [first, second] = [await connect(), await connect()]
  first.write(...HEAD, `Content-Length: ${body.length}`, '', body.slice(0, 6_000))
  await held(6_000)
  t.equal(await create(6_001), 503)
  second.write(...HEAD, 'Content-Length: 4000', '', body.slice(0, 2_000))
  await held(8_000)
  second.socket.resetAndDestroy()
  await held(6_000)
  first.write(body.slice(6_000, 6_001))
  await held(6_000 + 1 + 512)
  first.write(body.slice(6_001))
  t.equal((await first.answer()).status, 200)
  await held(0)
})

t.test('each further chunk of a body counts 512 bytes more, so that many small ones are bounded too', async t => {
  const { connect, held } = await serveSlowStore(t, { QUEUE_BYTES: 10_000 })
  const send = async (chunks: number) => {
    const body = [...plant(100, 0)].map(character => `1\r\n${character}\r\n`)
    const rest = body.splice(chunks).join('').replaceAll(/1\r\n|\r\n/g, '')
    const last = rest === '' ? '' : `${rest.length.toString(16)}\r\n${rest}\r\n`
    return (await (await connect()).write(...HEAD, 'Transfer-Encoding: chunked', '', `${body.join('')}${last}0\r\n\r\n`).answer()).status
  }
  t.equal(await send(10), 200)
  t.equal(await send(100), 503)
  await held(0)
})

t.test('the bytes of a request that is refused for another reason are released', async t => {
  const { held, send, port } = await serveSlowStore(t, { BODY_LIMIT: 500 })
  for (const [body, headers] of [
    ['{'], ['{}'], [''], ['[]'], [plant(501)], [plant(100), { authorization: undefined }], [plant(100), { 'content-type': 'text/plain' }]
  ] as [string, Record<string, undefined>?][]) t.not((await send(body, headers)).statusCode, 200)
  const inPieces = (length: string, ...pieces: string[]) => exchange(port, [[...HEAD, length, '', ''].join('\r\n'), ...pieces])
  for (const pieces of [['{', '}'], ['{', 'x'.repeat(99)], ['{}', `,${plant(97)}`]]) {
    const length = pieces.join('').length
    t.match((await inPieces(`Content-Length: ${length}`, ...pieces)).answers, [{ status: 400 }])
  }
  t.match((await inPieces('Transfer-Encoding: chunked', '1\r\n{\r\n', 'zz\r\n')).answers, [{ status: 400 }], 'a broken chunk')
  t.match((await inPieces('Transfer-Encoding: chunked', '1\r\n{\r\n', `1f4\r\n${'x'.repeat(500)}\r\n0\r\n\r\n`)).answers, [{ status: 413 }])
  await held(0)
})

const SMALL = '{"id":1,"name":"x"}'
const head = (...lines: string[]) => ['POST /plants HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n')
const GOOD = head(AUTHORIZATION, JSON_TYPE, `Content-Length: ${SMALL.length}`) + SMALL
const CHUNKED = 'Transfer-Encoding: chunked'
const BYTES = 5_000_000
const BODY = 'x'.repeat(BYTES)
const LENGTH = `Content-Length: ${BYTES}`
const inChunks = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

const refused: Record<string, [status: number, head: string, body: string]> = {
  'a body over the limit': [413, head(AUTHORIZATION, JSON_TYPE, LENGTH), BODY],
  'a body over the limit, in chunks': [413, head(AUTHORIZATION, JSON_TYPE, CHUNKED), inChunks(BODY)],
  'no credentials': [401, head(JSON_TYPE, LENGTH), BODY],
  'no credentials, a body in chunks': [401, head(JSON_TYPE, CHUNKED), inChunks('{}')],
  'an unknown token': [401, head('Authorization: Bearer an-unknown-token', JSON_TYPE, LENGTH), BODY],
  'another media type': [415, head(AUTHORIZATION, 'Content-Type: text/plain', LENGTH), BODY]
}
const refusedByService: typeof refused = {
  'an unknown path': [404, head(LENGTH).replace('/plants', '/plant'), BODY],
  'another method': [405, head(LENGTH).replace('POST', 'PUT'), BODY]
}

/**
 * Asserts that a client which sends all of a refused request before it reads, as Python's http.client does, gets the
 * response, and that the connection is then used again.
 */
async function assertRefused (t: Test, port: number, requests: typeof refused): Promise<void> {
  for (const [name, [status, head, body]] of Object.entries(requests)) {
    for (let time = 0; time < 2; time++) {
      const connection = await RawConnection.open(t, port)
      connection.socket.pause()
      await new Promise(resolve => { connection.write(head).socket.write(body, resolve) })
      connection.socket.resume()
      const answer = await connection.answer()
      t.equal(answer.status, status, name)
      t.not(answer.headers.connection, 'close', name)
      t.equal((await connection.write(GOOD).answer()).status, 200, `${name}, then a create request`)
      connection.socket.destroy()
    }
  }
}

t.test('a client that sends the whole body before reading gets the response of a refused request', async t => {
  const { port } = await serve(t, forgetfulStore())
  await assertRefused(t, port, { ...refused, ...refusedByService })
})

t.test('in a host too, even if its preParsing hook pipes the body', async t => {
  for (const pipes of [false, true]) {
    const app = host(t)
    if (pipes) app.addHook('preParsing', async (_request, _reply, payload) => payload.pipe(new PassThrough()))
    await app.register(plantStore, { store: forgetfulStore(), tokens })
    await assertRefused(t, await listen(app), refused)
  }
})

t.test('a body of exactly the limit is accepted, and one byte more is not', async t => {
  const body = '{"id":1,"name":"Monstera"}'
  for (const [limit, status] of [[body.length, 200], [body.length - 1, 413]] as const) {
    const { create } = await buildService(t, forgetfulStore(), { BODY_LIMIT: limit })
    t.equal((await create(body)).statusCode, status)
  }
})

t.test('a refused body that never ends is cut off when its request times out', async t => {
  const { app, port } = await serve(t, forgetfulStore())
  app.server.headersTimeout = app.server.requestTimeout = 500
  const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
  const heads = [[401, head(JSON_TYPE, CHUNKED)], [413, head(AUTHORIZATION, JSON_TYPE, CHUNKED)]] as const
  await Promise.all(heads.map(async ([status, head]) => {
    const connection = await RawConnection.open(t, port)
    connection.write(`${head}${chunk}${chunk}`)
    t.equal((await connection.answer()).status, status)
    const drip = setInterval(() => { connection.socket.write(chunk) }, 50)
    await connection.closed()
    clearInterval(drip)
  }))
})
