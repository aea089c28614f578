import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { PlantStore } from '../../src/stores/store.js'
import { exchange, RawConnection, type RawAnswer } from '../support/http/raw-connection.js'
import { AUTHORIZATION, HEAD, JSON_TYPE, serve, TOKEN } from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'

/** A marker in every body, so that a log that contains a body is detected. */
const MARK = 'a-name-that-no-log-may-contain'
const PLANT = JSON.stringify({ id: 1, name: MARK })

type Parts = { line?: string, body?: string } &
  { [name in 'host' | 'authorization' | 'type' | 'length' | 'more']?: string[] }

/** A valid `POST /plants`, apart from the given parts; a header can be given any number of times. */
function post ({
  line = 'POST /plants HTTP/1.1', host = ['Host: plants.example'], authorization = [AUTHORIZATION],
  type = [JSON_TYPE], body = PLANT, length = [`Content-Length: ${Buffer.byteLength(body)}`], more = []
}: Parts = {}): string {
  return [line, ...host, ...authorization, ...type, ...length, ...more, '', body].join('\r\n')
}

const LENGTH = `Content-Length: ${PLANT.length}`
const CHUNKED = 'Transfer-Encoding: chunked'
const SIZE = PLANT.length.toString(16)
const inChunks = (body: string, ...more: string[]) => post({ length: [CHUNKED], body, more })
const IN_CHUNKS = `${SIZE}\r\n${PLANT}\r\n0\r\n\r\n`
const to = (target: string, parts: Parts = {}) => post({ line: `POST ${target} HTTP/1.1`, ...parts })
const named = (name: string, texts: readonly string[], make: (text: string) => string) =>
  Object.fromEntries(texts.map(text => [`${name} ${JSON.stringify(text)}`, make(text)]))
const ANONYMOUS = post({ authorization: [] })
const UNKNOWN = 'Authorization: Bearer an-unknown-token'
const manyHeaders = (length: number) => Array.from({ length }, () => 'a:b')
const brackets = '['.repeat(100_000) + ']'.repeat(100_000)

type Sent = string | Buffer | readonly string[]

/** Each gets 400, 40000, and its connection is closed. */
const malformed: Record<string, Sent> = {
  // Request smuggling, where a proxy sees one request and the service two.
  'Content-Length twice, different': post({ length: [LENGTH, 'Content-Length: 1'] }),
  'Content-Length twice, the same': post({ length: [LENGTH, LENGTH] }),
  'Content-Length and Transfer-Encoding': post({ more: [CHUNKED], body: IN_CHUNKS }),
  'both, and more after the last chunk': post({ length: [CHUNKED, 'Content-Length: 4'], body: `0\r\n\r\n${post()}` }),
  ...named('beside a Content-Length', [
    'Transfer-Encoding: identity', 'Transfer-Encoding: gzip, identity', 'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding: chunked, chunked', 'Transfer-Encoding: xchunked', 'Transfer-Encoding : chunked',
    'Transfer-Encoding: \x0bchunked', 'X: y\r\n Transfer-Encoding: chunked'
  ], header => post({ more: [header], body: IN_CHUNKS })),
  ...named('Content-Length', ['-1', '+5', '0x10', '1e2', '5 5', '5,5', '99999999999999999999', 'a'],
    length => post({ length: [`Content-Length: ${length}`] })),
  ...named('chunks', [
    `0x${IN_CHUNKS}`, 'zz\r\n', `ffffffffffffffff1\r\n${PLANT}\r\n0\r\n\r\n`, `5\r\n${PLANT}\r\n0\r\n\r\n`,
    IN_CHUNKS.replaceAll('\r', '')
  ], chunks => inChunks(chunks)),
  'LF only': post().replaceAll('\r\n', '\n'),
  ...named('header', ['X: y\nTransfer-Encoding: chunked', 'X: y\rZ: a', 'X: y\0', 'broken'],
    header => post({ more: [header] })),
  // Node's parser accepts these before its version 9, as in Node 20.19.0.
  ...(Number.parseInt(process.versions['llhttp'] ?? '') >= 9 && {
    'a space before the colon': post({ authorization: [`Authorization : Bearer ${TOKEN}`] }),
    'a header without a name': post({ more: [': x'] }),
    'a non-ASCII byte in the target': Buffer.from(to('/plants\xff'), 'latin1')
  }),
  'Authorization twice': post({ authorization: ['Authorization: Basic YTpi', `AUTHORIZATION: Bearer ${TOKEN}`] }),
  'a folded header': post({ authorization: ['Authorization: Bearer', ` ${TOKEN}`] }),
  'not HTTP': 'hello\r\n\r\n',
  'a TLS handshake': Buffer.from('160301020001000100', 'hex'),
  'HTTP/2 with prior knowledge': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ...named('', [
    'PLANT /plants HTTP/1.1', 'post /plants HTTP/1.1', 'POST\t/plants HTTP/1.1', 'POST plants HTTP/1.1',
    'POST /plants /x HTTP/1.1'
  ], line => post({ line }))
}

/** Each gets 200. */
const valid: Record<string, Sent> = {
  'a valid request': post(),
  'a header of the length of Authorization, whose value is the name': post({ more: ['X-Thirteen-ab: authorization'] }),
  'other repeated headers': post({ more: ['X-ab: 1', 'X-ab: 1', 'X-Thirteen-ab: 1', 'X-Thirteen-ab: 1'] }),
  chunks: inChunks(IN_CHUNKS),
  'chunks of one byte each': inChunks(`${[...PLANT].map(byte => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`),
  'chunks with an extension and a trailer': inChunks(`${SIZE};a=b\r\n${PLANT}\r\n0\r\nAuthorization: Bearer x\r\n\r\n`),
  'empty lines before a request': `\r\n\r\n${post()}`,
  'a request in pieces': post().match(/.{1,40}/gs) as string[],
  ...named('POST', ['/plants?', '/plants?x=y', '/%70lants', '/plants?a=%00', '/plants?/../health/live'], to),
  // RFC 9112, section 3.2.2.
  'an absolute target': to('http://plants.example/plants'),
  '50,000 keys': post({ body: `{${Array.from({ length: 50_000 }, (_, i) => `"k${i}":1,`).join('')}${PLANT.slice(1)}` }),
  '100,000 brackets in an unknown field': post({ body: `{"id":1,"name":"${MARK}","x":${brackets}}` }),
  '100,000 brackets before an id with a decimal point': post({ body: `{"x":${brackets},"name":"${MARK}","id":1.0}` }),
  '100,000 nested objects with an id each': post({
    body: `{"x":${'{"id":'.repeat(100_000)}1${'}'.repeat(100_000)},"name":"${MARK}","id":1.0}`
  }),
  'an id of a million decimals': post({ body: `{"id":1.${'0'.repeat(1_000_000)},"name":"${MARK}"}` }),
  'a million spaces before the id': post({ body: `{"id":${' '.repeat(1_000_000)}1.0,"name":"${MARK}"}` }),
  '100,000 backslashes in a key': post({ body: `{"${'\\\\'.repeat(100_000)}":1,"id":1.0,"name":"${MARK}"}` })
}

/** Each gets one response, with this error number. */
const refused: Record<number, Record<string, Sent>> = {
  40001: {
    'an empty chunked body': inChunks('0\r\n\r\n'),
    'neither Content-Length nor Transfer-Encoding': post({ length: [], body: '' })
  },
  40003: {
    'operators of MongoDB': post({ body: '{"id":{"$gt":0},"name":{"$ne":null}}' }),
    '100,000 brackets instead of an id': post({ body: `{"id":${brackets},"name":"${MARK}"}` }),
    'an id of a million digits': post({ body: `{"id":1${'0'.repeat(1_000_000)},"name":"${MARK}"}` }),
    'an id of a million nines': post({ body: `{"id":${'9'.repeat(1_000_000)}.0,"name":"${MARK}"}` }),
    'an exponent of a million digits': post({ body: `{"id":1e${'9'.repeat(1_000_000)},"name":"${MARK}"}` })
  },
  40101: {
    ...named('Authorization:', ['', ' ', 'Bearer', 'Bearer ', 'Bearer\t', TOKEN, `Bearer ${TOKEN}\u00a0`],
      value => post({ authorization: [`Authorization: ${value}`] })),
    'no Authorization': ANONYMOUS,
    'no Authorization, and a body that never arrives': ANONYMOUS.slice(0, -9),
    ...named('no Authorization,', [
      'http://plants.example/plants', '/plants#x', '/%70lants', `/plants?access_token=${TOKEN}`
    ], target => to(target, { authorization: [] })),
    'the token in the body': post({ authorization: [], body: `{"access_token":"${TOKEN}",${PLANT.slice(1)}` }),
    ...named('instead,', [`Cookie: access_token=${TOKEN}`, `Proxy-Authorization: Bearer ${TOKEN}`],
      header => post({ authorization: [header] })),
    'an underscore in the header name': post({ authorization: [`Authorization_: Bearer ${TOKEN}`] })
  },
  40102: {
    'a token of 10 kB': post({ authorization: [`Authorization: Bearer ${'y'.repeat(10_000)}`] }),
    'an unknown token, and a body that never arrives': post({ authorization: [UNKNOWN] }).slice(0, -9)
  },
  // None of these is /plants.
  40401: named('POST', [
    '//plants', '/plants/', '/./plants', '/x/../plants', '/PLANTS', '/Plants', '/plants;x', '/plants%00', '/plants%2f',
    '/%2fplants', '/%2Fplants', '/plants%20', '/plants.json', '/plants%', '/%zz', '/plants%ff', '/', '/..%2fplants',
    '/health/../plants', '/health/ready%2f..%2f..%2fplants', '/plants\\', '/plants/1', '/plants%0d%0aX:%20y', '*'
  ], to),
  40501: { 'X-HTTP-Method-Override': post({ line: 'GET /plants HTTP/1.1', more: ['X-HTTP-Method-Override: POST'] }) },
  41301: {
    'a body over the limit, by its Content-Length': post({ length: ['Content-Length: 1048577'] }),
    'a body over the limit, in chunks': inChunks(`${(1_048_577).toString(16)}\r\n${' '.repeat(1_048_577)}\r\n0\r\n\r\n`)
  },
  41501: {
    'no Content-Type': post({ type: [] }),
    'chunks without Content-Type': post({ type: [], length: [CHUNKED], body: IN_CHUNKS })
  }
}

/** Connections with another number of responses. */
const several: Record<string, { sent: Sent, expected: number[], isClosed?: boolean }> = {
  'headers of 20 kB': { sent: post({ more: [`X: ${'y'.repeat(20_000)}`] }), expected: [43101], isClosed: true },
  'a path of 20 kB': { sent: to(`/plants?${'y'.repeat(20_000)}`), expected: [43101], isClosed: true },
  '10,000 headers': { sent: post({ more: manyHeaders(10_000) }), expected: [43101], isClosed: true },
  'HTTP/1.0': { sent: post({ line: 'POST /plants HTTP/1.0', host: [] }), expected: [200], isClosed: true },
  'without a length': { sent: post({ line: 'POST /plants HTTP/1.0', length: [] }), expected: [40001], isClosed: true },
  CONNECT: { sent: 'CONNECT plants.example:80 HTTP/1.1\r\nHost: a\r\n\r\n', expected: [], isClosed: true },
  'twenty pipelined requests': { sent: post().repeat(20), expected: Array.from({ length: 20 }, () => 200) },
  'the second without credentials': { sent: post() + ANONYMOUS, expected: [200, 40101] },
  'the first without credentials': { sent: ANONYMOUS + post(), expected: [40101, 200] },
  'bodies that are refused by their headers, and no plant, then a valid request': {
    sent: post({ type: ['Content-Type: text/plain'] }) + post({ body: '{}' }) + post(), expected: [41501, 40003, 200]
  }
}

const refusedTypes = [
  'text/plain', 'application/jsonx', 'application/json-patch+json', 'application/jso', 'application', 'application/',
  '/json', 'json', '*/*', 'application/*', 'application/json, text/plain', 'application/json,application/json',
  'text/plain, application/json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=application/json',
  'text/plain; application/json', 'application/json/json', 'application/ json', 'application /json',
  '"application/json"', 'application/json\u00a0', 'x-application/json', ''
]
/** Spellings of application/json (RFC 9110, section 8.3.1). */
const acceptedTypes = [
  'application/json', 'Application/JSON', 'APPLICATION/JSON', 'application/json; charset=utf-8',
  'application/json;charset=UTF-8', 'application/json ; charset=utf-8', 'application/json;charset="utf-8"',
  ' application/json ', '\tapplication/json\t', 'application/json; a=b; c="d;e"'
]
/** Either response is allowed; CVE-2025-32442, CVE-2026-25223, CVE-2026-3419 and CVE-2026-33806 used these. */
const doubtfulTypes = [
  'application/json\ta', 'application/json\t;charset=utf-8', 'application/json garbage', 'application/json;',
  'application/json ;', 'application/json;;', 'application/json; ', 'application/json;charset', 'application/json;=',
  'application/json; charset = utf-8', 'application/json; text/plain', 'application/json;application/text',
  'application/json\t', 'application/json \t ', 'application/json;\tcharset=utf-8', 'application/json;charset=utf-16',
  'application/json;charset=iso-8859-1', 'application/json; charset="', '\t application/json',
  'application/json;charset=utf-8, text/plain'
]

/** The service on a store that records its plants, and can be made to wait. */
async function serveRecorder (t: Test) {
  const store = { ...forgetfulStore(), wait: undefined as Promise<unknown> | undefined }
  const create: PlantStore['create'] = async plant => {
    store.plants.push(plant)
    await store.wait
    return 'stored'
  }
  const configuration = { ACCESS_LOG: true, STORE_TIMEOUT: 1_000, DOCS: true }
  return { ...await serve(t, { create }, configuration), store }
}

/** Asserts what applies to every response, and returns its error number, or 200. */
function checked (t: Test, { status, headers, body }: RawAnswer, name: string): number {
  const { error = 200, message, ...plant } = JSON.parse(body)
  const isStored = error === 200
  t.strictSame({ status, plant, type: headers['content-type'] }, {
    status: isStored ? 200 : Math.floor(error / 100),
    plant: isStored ? { name: MARK } : {},
    type: 'application/json; charset=utf-8'
  }, name)
  if (!isStored) t.match(message, /^.{20,}$/, name)
  if (status === 401) t.match(headers['www-authenticate'], /^Bearer realm=/, `${name}: the challenge`)
  if (status === 405) t.equal(headers.allow, 'POST')
  return error
}

t.test('every hostile request gets the expected responses, and only valid plants are stored', async t => {
  const { port, store, log } = await serveRecorder(t)
  async function answers (name: string, sent: Sent, expected: number[], isClosed = false): Promise<void> {
    store.plants.length = 0
    const { answers, closed, took } = await exchange(port, sent, { expected: isClosed ? Infinity : expected.length })
    t.strictSame(answers.map(answer => checked(t, answer, name)), expected, name)
    if (isClosed) {
      t.ok(closed, `${name}: the connection is closed`)
      t.not(answers.at(-1)?.headers.connection, 'keep-alive', `${name}: the last response says so`)
    }
    t.ok(took < 3_000, `${name}: in ${Math.round(took)} ms`)
    const stored = expected.filter(status => status === 200).map(() => ({ id: 1n, name: MARK }))
    t.strictSame(store.plants, stored, `${name}: the stored plants`)
  }
  for (const [name, sent] of Object.entries(malformed)) await answers(name, sent, [40000], true)
  for (const [name, sent] of Object.entries(valid)) await answers(name, sent, [200])
  for (const [error, requests] of Object.entries(refused)) {
    for (const [name, sent] of Object.entries(requests)) await answers(name, sent, [Number(error)])
  }
  for (const [name, { sent, expected, isClosed }] of Object.entries(several)) {
    await answers(name, sent, expected, isClosed)
  }
  t.notMatch(log.join(''), TOKEN, 'no log contains a token')
  t.notMatch(log.join(''), MARK, 'nor a body')
})

t.test('the spelling of a content type decides whether a body is read, never whether it is validated', async t => {
  const { port, store } = await serveRecorder(t)
  const answerTo = async (type: string, body: object): Promise<number | undefined> => {
    const sent = post({ type: [`Content-Type:${type}`], body: JSON.stringify(body) })
    const { answers: [answer] } = await exchange(port, sent)
    return answer && checked(t, answer, type)
  }
  for (const type of [...acceptedTypes, ...refusedTypes, ...doubtfulTypes]) {
    const good = await answerTo(type, { id: 1, name: MARK })
    const bad = await answerTo(type, { id: '1', name: MARK })
    const isRead = doubtfulTypes.includes(type) ? good === 200 : acceptedTypes.includes(type)
    t.strictSame([good, bad], isRead ? [200, 40003] : [41501, 41501], JSON.stringify(type))
  }
  t.ok(store.plants.every(({ id, name }) => id === 1n && name === MARK), 'only valid plants are stored')
})

const requestLines = [
  'GET /health/live', 'GET /health/ready', 'GET /openapi.json', 'GET /docs', 'GET /docs/static/index.css',
  'GET /nowhere', 'GET /%zz', 'PUT /plants', 'POST /plants'
]

t.test('on every path, a repeated, invalid or missing Host, or another version of HTTP, is 400, 40000', async t => {
  const { port, store } = await serveRecorder(t)
  const hosts = [
    ['Host: a', 'Host: b'], ['Host: a', 'host: a'], ['Host: :80'], ['Host: a b'], ['Host: a/b'], ['Host: user@a'],
    ['Host: a:b'], ['Host: http://a'], ['Host: [::1'], ['Host: ::1'], ['Host: a, b'], ['Host: a%'], ['Host: \xe9'],
    ['Host: "a"'], ['Host: a', 'Content-Type: a/b', 'content-type: a/b'], []
  ]
  const versions = ['HTTP/0.9', 'HTTP/1.2', 'HTTP/2', 'HTTP/3.0', 'http/1.1', 'HTTP/11', 'ICE/1.1', '', 'HTTP/2.0']
  const wrong = [
    ...hosts.map(headers => ({ version: 'HTTP/1.1', headers })),
    ...versions.map(version => ({ version, headers: ['Host: a'] }))
  ]
  const everywhere = wrong.filter(({ version, headers }) => headers.length !== 1 || ['', 'HTTP/2.0'].includes(version))
  for (const line of requestLines) {
    for (const { version, headers } of line === 'POST /plants' ? wrong : everywhere) {
      const request = [`${line} ${version}`.trim(), ...headers, AUTHORIZATION, '', ''].join('\r\n')
      const { answers, closed } = await exchange(port, request, { expected: Infinity })
      t.match(answers, [{ status: 400, body: /^{"error":40000,"message":".+"}$/ }], request)
      t.ok(closed, 'the connection is closed')
    }
  }
  t.strictSame(store.plants, [])
})

t.test('a repeated header that must be unique is refused with a message that names it', async t => {
  const { port, store } = await serveRecorder(t)
  const repeated = { authorization: AUTHORIZATION, host: 'host: elsewhere', 'content-type': JSON_TYPE }
  for (const [name, header] of Object.entries(repeated)) {
    const { answers: [answer] } = await exchange(port, post({ more: [header] }))
    t.equal(answer && checked(t, answer, name), 40000)
    t.equal(JSON.parse(answer?.body ?? '').message, `There is more than one ${name} header: send one`)
  }
  t.strictSame(store.plants, [])
})

t.test('every valid Host is accepted', async t => {
  const { port } = await serveRecorder(t)
  const answersTo = async (head: string) => (await exchange(port, `GET /health/live ${head}\r\n\r\n`)).answers
  for (const host of [
    '', 'a', 'a.example', 'A.example.', 'a_b', 'a:80', 'a:', '127.0.0.1:3000', '[::1]', '[::1]:3000',
    '[::ffff:127.0.0.1]', '[v1.a:b]', 'a%20b', 'xn--bcher-kva.example', '1', "!$&'()*+,;=-._~"
  ]) t.match(await answersTo(`HTTP/1.1\r\nHost: ${host}`), [{ status: 200 }], host)
  t.match(await answersTo('HTTP/1.0'), [{ status: 200 }])
  t.match(await answersTo('HTTP/1.0\r\nHost: a b'), [{ status: 400 }])
})

t.test('an Upgrade is ignored, and the connection goes on', async t => {
  const { port, store } = await serveRecorder(t)
  // As Java's client sends it.
  const settings = 'HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA'
  const upgrade = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', settings]
  const kept = { connection: 'keep-alive' }
  const connection = await RawConnection.open(t, port)
  for (let turn = 0; turn < 3; turn++) {
    t.match(await connection.write(post({ more: upgrade })).answer(), { status: 200, headers: kept })
  }
  t.equal(store.plants.length, 3)
  const refused = await connection.write(post({ authorization: [], more: upgrade })).answer()
  t.match(refused, { status: 401, headers: kept })
  for (const line of requestLines.slice(0, -1)) {
    connection.write(`${line} HTTP/1.1`, 'Host: a', 'Connection: Upgrade', 'Upgrade: websocket', '', '')
    t.match(await connection.answer(), { headers: kept }, line)
  }
})

t.test('a client that leaves while it sends a body, or while its request is pending, is no fault', async t => {
  const { port, store, log } = await serveRecorder(t)
  for (let client = 0; client < 12; client++) {
    const { socket } = (await RawConnection.open(t, port)).write(post().slice(0, -10 - client % 3))
    await sleep(2)
    if (client % 2 === 0) socket.resetAndDestroy()
    else socket.end()
  }
  await sleep(50)
  t.strictSame(store.plants, [], 'no plant of an incomplete body is stored')
  let settle = () => {}
  store.wait = new Promise<void>(resolve => { settle = resolve })
  for (let client = 0; client < 12; client++) {
    const { socket } = (await RawConnection.open(t, port)).write(post())
    while (store.plants.length <= client) await sleep(1)
    socket.resetAndDestroy()
  }
  settle()
  await sleep(50)
  t.strictSame((await exchange(port, post())).answers.map(({ status }) => status), [200])
  const isError = (line: string) => JSON.parse(line).level >= 50
  t.strictSame(log.filter(isError), [], 'nothing is logged as an error')
})

t.test('invalid HTTP behind a response gets one; behind pending creates, the connection ends after theirs', async t => {
  const { port, store } = await serveRecorder(t)
  const connection = await RawConnection.open(t, port)
  t.equal(checked(t, await connection.write(post()).answer(), 'first'), 200)
  t.equal(checked(t, await connection.write('hello\r\n\r\n').answer(), 'second'), 40000)
  await connection.closed()
  store.wait = sleep(200)
  const { answers, closed } = await exchange(port, [post(), post(), 'hello\r\n\r\n'], { expected: Infinity })
  t.ok(closed)
  t.strictSame(answers.map(({ status }) => status), [200, 200], 'none could be taken for that of a create')
})

t.test('a slow client is cut off: its headers after 10 s, the whole request after 20 s', async t => {
  const { app, port, queue, log } = await serveRecorder(t)
  t.strictSame([app.server.headersTimeout, app.server.requestTimeout], [10_000, 20_000])
  app.server.headersTimeout = 500
  app.server.requestTimeout = 1_000
  const head = [...HEAD, LENGTH].join('\r\n')
  const slow: Record<string, { bytes: string, trickle?: string }> = {
    'headers that stop': { bytes: head },
    'headers that trickle': { bytes: `${head}\r\n`, trickle: 'X: y\r\n' },
    'a request line that trickles': { bytes: 'POST /', trickle: 'x' },
    'a body that stalls': { bytes: post().slice(0, -3) },
    'a body that trickles': { bytes: post({ length: ['Content-Length: 1000'] }), trickle: ' ' }
  }
  await Promise.all(Object.entries(slow).map(async ([name, { bytes, trickle }]) => {
    const connection = (await RawConnection.open(t, port)).write(bytes)
    const { socket, answers } = connection
    const drip = setInterval(() => { if (trickle !== undefined && socket.writable) socket.write(trickle) }, 500)
    await connection.closed()
    clearInterval(drip)
    const headers = { connection: 'close', 'x-request-id': /./ }
    t.match(answers, [{ status: 408, headers, body: /"error":40801/ }], name)
    const line = log.find(line => JSON.parse(line).reqId === answers[0]?.headers['x-request-id'])
    t.match(JSON.parse(line ?? '{}'), { statusCode: 408, msg: 'request' })
  }))
  t.equal(queue.bytes, 0, 'their bytes are released')
})
