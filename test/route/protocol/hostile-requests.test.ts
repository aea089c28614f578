import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { NewPlant, PlantStore } from '../../../src/plant-store.js'
import { doubtfulTypes, hostileRequests, malformed, MARK, post, wellFormed } from '../../support/http/hostile-requests.js'
import { exchange, RawConnection, type RawAnswer } from '../../support/http/raw-connection.js'
import { serve, TOKEN } from '../../support/http/service.js'

/** A store that records its plants, and can be made to wait. */
class Recorder implements PlantStore {
  readonly plants: NewPlant[] = []
  wait: Promise<unknown> | undefined

  async create (plant: NewPlant): Promise<'stored'> {
    this.plants.push(plant)
    await this.wait
    return 'stored'
  }
}

async function serveRecorder (t: Test): Promise<Awaited<ReturnType<typeof serve>> & { store: Recorder }> {
  const store = new Recorder()
  return { ...await serve(t, store, { ACCESS_LOG: true, STORE_TIMEOUT: 1_000 }), store }
}

/** Asserts what applies to every response, and returns its status and error number. */
function checked (t: Test, { status, headers, body }: RawAnswer, name: string): [number, number] {
  if (status === 100) return [100, 0]
  const content = body === '' ? undefined : JSON.parse(body)
  t.equal(headers['content-type'], 'application/json; charset=utf-8', `${name}: its type`)
  if (status === 200) {
    t.strictSame(content, { name: MARK }, `${name}: the plant`)
    return [200, 0]
  }
  t.match(content, { error: Number, message: /^.{20,}$/ }, `${name}: the Error shape`)
  t.strictSame(Object.keys(content ?? {}), ['error', 'message'])
  if (status === 401) t.match(headers['www-authenticate'], /^Bearer realm=/, `${name}: the challenge`)
  if (status === 405) t.equal(headers.allow, 'POST')
  return [status, content?.error]
}

t.test('every hostile request gets the expected responses, and only valid plants are stored', async t => {
  const { port, store, log } = await serveRecorder(t)
  for (const { name, sent, answers, closes } of hostileRequests) {
    store.plants.length = 0
    const {
      answers: got,
      closed,
      took
    } = await exchange(port, sent, { expected: closes === true ? Infinity : answers.length })
    t.strictSame(got.map(answer => checked(t, answer, name)), answers, name)
    if (closes !== undefined) t.equal(closed, closes, `${name}: whether the connection is closed`)
    if (closes === true && got.length > 0) t.not(got.at(-1)?.headers.connection, 'keep-alive', `${name}: the last response says so`)
    t.ok(took < 3_000, `${name}: in ${Math.round(took)} ms`)
    t.strictSame(store.plants, Array.from({ length: answers.filter(([status]) => status === 200).length }, () => ({ id: 1n, name: MARK })), `${name}: the stored plants`)
  }
  const text = log.join('')
  t.notMatch(text, TOKEN, 'no log contains a token')
  t.notMatch(text, MARK, 'nor a body')
})

t.test('an ambiguous content type does not bypass validation', async t => {
  const { port, store } = await serveRecorder(t)
  const answerTo = async (type: string, body: object): Promise<[number, number] | undefined> => {
    const { answers } = await exchange(port, post({ type: [`Content-Type: ${type}`], body: JSON.stringify(body) }))
    return answers[0] && checked(t, answers[0], type)
  }
  for (const type of doubtfulTypes) {
    const good = await answerTo(type, { id: 1, name: MARK })
    const bad = await answerTo(type, { id: '1', name: MARK })
    const read = good?.[0] === 200
    t.strictSame([good, bad], read ? [[200, 0], [400, 40003]] : [[415, 41501], [415, 41501]], JSON.stringify(type))
  }
  t.ok(store.plants.every(({ id, name }) => id === 1n && name === MARK), 'only valid plants are stored')
})

t.test('well-formed JSON is parsed, any other text is refused', async t => {
  const { create, store } = await serveRecorder(t)
  // In ASCII, because U+2028 in a test's name would end its line.
  const name = (text: string | Buffer) => JSON.stringify(String(text).slice(0, 80)).replace(/[^ -~]/g, character => `\\u{${character.codePointAt(0)?.toString(16)}}`)
  const errorOf = async (text: string | Buffer) => {
    const response = await create(text)
    return [response.statusCode, response.json().error]
  }
  for (const text of wellFormed) t.strictSame(await errorOf(text), [400, 40003], name(text))
  for (const text of malformed) t.strictSame(await errorOf(text), [400, 40002], name(text))
  t.strictSame(await errorOf(''), [400, 40001], 'an empty body')
  t.strictSame(store.plants, [])
})

t.test('a client that disconnects while sending a body is not logged as a fault, and no plant is stored', async t => {
  const { port, store, log } = await serveRecorder(t)
  for (let client = 0; client < 30; client++) {
    const { socket } = (await RawConnection.open(t, port)).write(post().slice(0, -10 - client % 3))
    await sleep(2)
    if (client % 2 === 0) socket.resetAndDestroy()
    else socket.end()
  }
  await sleep(50)
  t.strictSame(store.plants, [])
  t.strictSame(log.map(line => JSON.parse(line)).filter(({ level }) => level >= 50), [], 'nothing is logged as an error')
  t.strictSame((await exchange(port, post())).answers.map(({ status }) => status), [200])
})

t.test('a client that disconnects while its create request is pending is not logged as a fault', async t => {
  const { port, store, log } = await serveRecorder(t)
  let settle = () => {}
  store.wait = new Promise<void>(resolve => { settle = resolve })
  for (let client = 0; client < 30; client++) {
    const { socket } = (await RawConnection.open(t, port)).write(post())
    while (store.plants.length <= client) await sleep(1)
    socket.resetAndDestroy()
  }
  settle()
  await sleep(50)
  t.strictSame((await exchange(port, post())).answers.map(({ status }) => status), [200])
  t.strictSame(log.map(line => JSON.parse(line)).filter(({ level }) => level >= 50), [], 'nothing is logged as an error')
})

t.test('invalid HTTP behind pending create requests closes the connection after their responses', async t => {
  const { port, store } = await serveRecorder(t)
  store.wait = sleep(200)
  const { answers, closed } = await exchange(port, [post(), post(), 'hello\r\n\r\n'], { expected: Infinity })
  t.ok(closed)
  t.strictSame(answers.map(({ status }) => status), [200, 200], 'no response could be taken for that of a create request')
})

t.test('a slow client is cut off: its headers after 10 s, the whole request after 20 s', async t => {
  const { app, port } = await serveRecorder(t)
  t.strictSame([app.server.headersTimeout, app.server.requestTimeout], [10_000, 20_000])
  app.server.headersTimeout = 500
  app.server.requestTimeout = 1_000
  const slow = async (bytes: string, trickle: string) => {
    const { socket, answers } = (await RawConnection.open(t, port)).write(bytes)
    const drip = setInterval(() => { if (trickle !== '' && socket.writable) socket.write(trickle) }, 500)
    const began = performance.now()
    await Promise.race([once(socket, 'close'), sleep(14_000, undefined, { ref: false })])
    clearInterval(drip)
    socket.destroy()
    return { answer: answers[0], seconds: (performance.now() - began) / 1_000 }
  }
  const head = post().split('\r\n\r\n')[0] as string
  await Promise.all([
    ['headers that stop', head, ''],
    ['headers that trickle', `${head}\r\n`, 'X: y\r\n'],
    ['a request line that trickles', 'POST /', 'x'],
    ['a body that stalls', post().slice(0, -3), ''],
    ['a body that trickles', post({ length: ['Content-Length: 1000'] }), ' ']
  ].map(async ([name, bytes, trickle]) => {
    const { answer, seconds } = await slow(bytes as string, trickle as string)
    t.ok(seconds < 13, `${name}: cut after ${seconds.toFixed(1)} s`)
    t.match(answer, { status: 408, body: /"error":40801/ }, `${name}: with 408`)
  }))
})
