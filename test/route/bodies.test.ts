import { isUtf8 } from 'node:buffer'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { CreateOutcome, PlantStore } from '../../src/stores/store.js'
import { exchange, RawConnection } from '../support/http/raw-connection.js'
import { answersError, answersPlant, buildService, HEAD, serve, TOKEN, type Service } from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { onBothStores, type NewPlace } from '../support/stores/places.js'
import { anyInt64, anySpelling, HIGHEST, LOWEST, spell } from './spelling.js'
import { until } from '../support/until.js'

const NOT_JSON = /^The body is not acceptable JSON/
const NOT_INT64 = /^id must be an integer from -9223372036854775808 to 9223372036854775807 \(int64\)/
const ID_MISSING = /^id is missing: id must be an integer/
const NAME = /^name must be a string of well-formed Unicode$/
const NAME_MISSING = /^name is missing: name must be/
const TAG = /^tag must be a string of well-formed Unicode, or be left out$/

const refusals: Record<string, (t: Test, service: Service) => Promise<void>> = {
  async 'a body that is absent or empty is 40001' (t, { app, create }) {
    const message = /^The request has no body: send a plant as JSON/
    answersError(t, await create(), 40001, message, 'absent')
    answersError(t, await create(''), 40001, message, 'empty')
    answersError(t, await create(Buffer.alloc(0)), 40001, message, 'no bytes')
    const bare = await app.inject({ method: 'POST', url: '/plants', headers: { authorization: `Bearer ${TOKEN}` } })
    answersError(t, bare, 40001, message, 'absent, without a content type')
  },

  async 'text that is not JSON is 40002, at any depth, and JSON that is not a plant is 40003' (t, { create }) {
    for (const body of [
      ' ', '{', '{]', '[1,]', '{"id":0,}', '{"id":1 "name":"x"}', "{'id':1}", '{id:1}', '{"id":01,"name":"x"}',
      '{"id":+1,"name":"x"}', '{"id":0x1}', '{"id":1.,"name":"x"}', '{"id":1n}', '{"id":NaN}', '{"id":1}/**/',
      '{"id":1,"name":"x"}}', '["\\u00A"]', '["\\a"]', '["new\nline"]', '\ufeff\ufeff{}', 'undefined', '<html>',
      '['.repeat(100_000), '{"a":'.repeat(100_000)
    ]) answersError(t, await create(body), 40002, NOT_JSON, JSON.stringify(body.slice(0, 40)))
    for (const body of [
      ' [] ', '"\\ud800"', '{"":0}', '[1e400]', '{"a":"b","a":"c"}', '["\\u0000"]', '['.repeat(500) + ']'.repeat(500)
    ]) answersError(t, await create(body), 40003, /./, body)
  },

  async 'a poisoned key is 40002, in any spelling and at any depth' (t, { create }) {
    for (const members of [
      '"__proto__":{"admin":true}', '"__proto__":null', '"\\u005f_proto__":{}', '"_\\u005fproto\\u005F\\u005f":{}',
      '"more":{"deep":[{"__proto__":{}}]}', '"constructor":{"prototype":{"admin":true}}',
      '"\\u0063onstructor":{"prototype":{}}', '"more":{"constructor":{"prototype":{}}}'
    ]) answersError(t, await create(`{"id":1,"name":"x",${members}}`), 40002, NOT_JSON, members)
    for (const body of ['{"__proto__":{"id":1,"name":"x"}}', '[{"__proto__":{}}]']) {
      answersError(t, await create(body), 40002, NOT_JSON, body)
    }
    t.equal((Object.prototype as { admin?: boolean }).admin, undefined)
  },

  async 'bytes that are not UTF-8 are 40002, not replaced' (t, { create }) {
    const message = /^The body is not well-formed UTF-8/
    const around = (bytes: Uint8Array) => Buffer.concat([Buffer.from('{"id":1,"name":"'), bytes, Buffer.from('"}')])
    for (const bytes of ['fffe', 'c080', 'c3', 'e282', 'f0808080', 'eda080', 'edb08080', 'f4908080', '80', 'e9']) {
      answersError(t, await create(around(Buffer.from(bytes, 'hex'))), 40002, message, bytes)
    }
    answersError(t, await create(Buffer.from('{"id":1,"name":"x"}', 'utf16le')), 40002, /^The body is not/, 'UTF-16')
    await fc.assert(fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 12 }), async bytes => {
      fc.pre(!isUtf8(bytes))
      return (await create(around(bytes))).json().error === 40002
    }), { numRuns: 40 })
  },

  async 'JSON that is not an object with an id and a name is 40003, and the message names the field' (t, { create }) {
    const refused: { message: RegExp, bodies: string[] }[] = [
      {
        message: /^The plant is not valid/,
        bodies: ['null', 'true', '1', '9007199254740993', '1.5', '"x"', '[]', '[{"id":1,"name":"x"}]']
      },
      { message: ID_MISSING, bodies: ['{}', '{"name":"x"}'] },
      { message: NAME_MISSING, bodies: ['{"id":1}', '{"id":1,"tag":"x"}', '{"id":1,"Name":"x"}'] },
      { message: /: a JSON number, not a string$/, bodies: ['{"id":"1","name":"x"}'] },
      { message: NAME, bodies: ['1', 'true', 'null', '[]', '["x"]', '{}'].map(value => `{"id":1,"name":${value}}`) },
      { message: TAG, bodies: ['1', 'false', 'null', '[]', '{}'].map(value => `{"id":1,"name":"x","tag":${value}}`) }
    ]
    for (const { message, bodies } of refused) {
      for (const body of bodies) answersError(t, await create(body), 40003, message, body)
    }
  },

  async 'a lone surrogate is 40003, at any position' (t, { create }) {
    for (const text of ['\\ud800', '\\udfff', 'a\\ud83cb', '\\udf31\\ud83c', '\\ud83c\\ud83c\\udf31']) {
      answersError(t, await create(`{"id":1,"name":"${text}"}`), 40003, NAME, text)
      answersError(t, await create(`{"id":1,"name":"x","tag":"${text}"}`), 40003, TAG, text)
    }
    const surrogate = fc.integer({ min: 0xd800, max: 0xdfff }).map(unit => String.fromCharCode(unit))
    const text = fc.array(fc.integer({ min: 0, max: 0x10ffff })).map(points => String.fromCodePoint(...points))
    await fc.assert(fc.asyncProperty(text, surrogate, text, async (before, lone, after) => {
      const name = before + lone + after
      fc.pre(!name.isWellFormed())
      return (await create(`{"id":1,"name":${JSON.stringify(name)}}`)).json().error === 40003
    }), { numRuns: 40 })
  },

  async 'a body that is not application/json, or is encoded, is 415, 41501' (t, { create }) {
    const body = '{"id":1,"name":"x"}'
    const message = /^The body must be JSON, unencoded: send the header Content-Type: application\/json$/
    for (const type of ['text/plain', 'application/vnd.api+json', undefined]) {
      answersError(t, await create(body, { 'content-type': type }), 41501, message, `content type ${type}`)
    }
    for (const type of ['text/plain', 'not a type']) {
      answersError(t, await create(undefined, { 'content-type': type }), 41501, message, `no body, ${type}`)
    }
    for (const encoding of ['gzip', 'br', 'identity, gzip', 'Identity2']) {
      answersError(t, await create(body, { 'content-encoding': encoding }), 41501, message, `encoding ${encoding}`)
    }
    for (const encoding of ['identity', 'Identity', '']) {
      answersError(t, await create('{', { 'content-encoding': encoding }), 40002, /./, `${encoding} is no encoding`)
    }
  }
}

t.test('JSON that is not a NewPlant is refused with its error number, and nothing is stored', async t => {
  const store = forgetfulStore()
  const service = await buildService(t, store)
  for (const [name, refuse] of Object.entries(refusals)) await t.test(name, async t => refuse(t, service))
  t.strictSame(store.plants, [])
  t.strictSame(service.log, [], 'nothing is logged: these are not faults')
})

/** Ids as a body spells them, and what is stored. */
const integers: [literal: string, id: bigint][] = [
  ['0', 0n], ['-0', 0n], ['0.0', 0n], ['-0e0', 0n], ['0e999999999999', 0n], ['1', 1n], ['-1', -1n], ['1.0', 1n],
  ['1e3', 1000n], ['1E+3', 1000n], ['120e-1', 12n], ['0.000', 0n], ['-0.0E-7', 0n], ['12.50e1', 125n], ['1200e-2', 12n],
  ['0.0012e4', 12n], ['2147483647', 2n ** 31n - 1n], ['2147483648', 2n ** 31n], ['-2147483649', -(2n ** 31n) - 1n],
  ['9007199254740991', 2n ** 53n - 1n], ['9007199254740992', 2n ** 53n], ['9007199254740993', 2n ** 53n + 1n],
  ['-9007199254740991', 1n - 2n ** 53n], ['-9007199254740992', -(2n ** 53n)], ['-9007199254740993', -(2n ** 53n) - 1n],
  ['9007199254740993.0', 2n ** 53n + 1n], ['9.007199254740993e15', 2n ** 53n + 1n],
  ['9223372036854775806', HIGHEST - 1n], ['9223372036854775807', HIGHEST], ['-9223372036854775807', LOWEST + 1n],
  ['-9223372036854775808', LOWEST], ['9.223372036854775807e18', HIGHEST], ['922337203685477580.7e1', HIGHEST],
  ['92233720368547758070e-1', HIGHEST], ['-9.223372036854775808E18', LOWEST], ['9223372036854775807000e-3', HIGHEST],
  ['9e18', 9n * 10n ** 18n], ['0.00009223372036854775807e23', HIGHEST]
]

const notInt64 = [
  '9223372036854775808', '-9223372036854775809', '18446744073709551616', '9.223372036854775808e18', '10e18', '1e19',
  '-9.223372036854775809e18', '1e400', '-1e400', '1e999999999999', '1e-1', '1e-999999999999', '1.5', '-0.5', '0.1e0',
  '1.00000000000000000001', '9007199254740993.5', '12e-2', '9223372036854775807.1', '123456789012345678901234567890',
  'true', 'false', 'null', '""', '"1"', '[]', '[1]', '{}'
]

onBothStores(t, (t: Test, newPlace: NewPlace) => {
  t.test('an id is exact over all of int64, in any spelling', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    const name = 'Ficus'
    for (const [literal] of integers) {
      answersPlant(t, await create(`{"id":${literal},"name":"${name}"}`), { name }, `id ${literal}`)
    }
    t.strictSame(await place.stored(), new Map(integers.map(([, id]) => [id, { name }])))
  })

  t.test('the id is the last top-level member with that name', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    const bodies: [body: string, id: bigint][] = [
      ['{"id":1.5,"name":"x","id":9007199254740993}', 9007199254740993n],
      ['{"id":9007199254740995,"name":"x","id":2}', 2n],
      ['{"id":"3","name":"x","id":9007199254740997}', 9007199254740997n],
      ['{"\\u0069d":9007199254740999,"name":"x"}', 9007199254740999n],
      ['{"id":1,"name":"x","\\u0069\\u0064":9007199254741001}', 9007199254741001n],
      ['{"id":9007199254741003,"name":"x","more":{"id":5}}', 9007199254741003n],
      ['{"more":[{"id":6.5}],"id":9007199254741005,"name":"x"}', 9007199254741005n],
      ['{"name":"x","note":"\\"id\\":7,","id" : 9007199254741007 }', 9007199254741007n],
      ['\ufeff{"id":9007199254741009,"name":"x"}', 9007199254741009n],
      ['{"note":"\\\\","id":9007199254741011,"name":"x"}', 9007199254741011n],
      ['{"note":"{[\\"","id":9007199254741013,"name":"x"}', 9007199254741013n],
      ['{"note":"id","name":"x","\\\\":"id","id":9007199254741015}', 9007199254741015n],
      ['{"weight":1e400,"id":8,"height":123456789012345678901234567890,"name":"x"}', 8n]
    ]
    for (const [body] of bodies) answersPlant(t, await create(body), { name: 'x' }, body)
    t.strictSame(await place.stored(), new Map(bodies.map(([, id]) => [id, { name: 'x' }])))

    for (const body of [
      '{"id":2,"name":"x","id":1.5}', '{"id":9007199254740993,"name":"x","id":"4"}',
      '{"id":9007199254740993,"name":"x","id":null}', '{"more":{"id":9007199254740993},"id":1e-1,"name":"x"}'
    ]) answersError(t, await create(body), 40003, NOT_INT64, body)
    for (const body of ['{"more":{"id":9007199254740993},"name":"x"}', '{"ID":9007199254740993,"name":"x"}']) {
      answersError(t, await create(body), 40003, ID_MISSING, body)
    }
    t.equal((await place.stored()).size, bodies.length)
  })

  t.test('an id that is not an int64 is refused with a message that names it, and nothing is stored', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    const bodyOf = (literal: string) => `{"id":${literal},"name":"x"}`
    for (const literal of notInt64) answersError(t, await create(bodyOf(literal)), 40003, NOT_INT64, `id ${literal}`)
    const isRefused = async (literal: string) => (await create(bodyOf(literal))).json().error === 40003
    const decimals = fc.integer({ min: 1, max: 20 })
    await fc.assert(fc.asyncProperty(anyInt64, decimals, anySpelling, async (units, decimals, spelling) => {
      fc.pre(units % 10n !== 0n)
      return isRefused(spell(units, decimals, spelling))
    }), { numRuns: 60 })
    const above = fc.bigInt({ min: HIGHEST + 1n, max: 2n ** 80n })
    const below = fc.bigInt({ min: -(2n ** 80n), max: LOWEST - 1n })
    await fc.assert(fc.asyncProperty(fc.oneof(above, below), anySpelling, async (integer, spelling) => (
      isRefused(spell(integer, 0, spelling))
    )), { numRuns: 40 })
    t.equal((await place.stored()).size, 0)

    const expected = new Map<bigint, object>()
    await fc.assert(fc.asyncProperty(anyInt64, anySpelling, async (id, spelling) => {
      expected.set(id, { name: 'x' })
      return (await create(bodyOf(spell(id, 0, spelling)))).statusCode === 200
    }), { numRuns: 60 })
    t.strictSame(await place.stored(), expected, 'any int64 in any spelling is stored to the digit')
  })
})

const CHUNKED = 'Transfer-Encoding: chunked'
const TOO_LARGE = /^The pending create requests are too large; this request did not store the plant: retry later$/

/** A plant as JSON with a given number of bytes. */
const plant = (bytes: number, id = 1) => `{"id":${id},"name":"${'x'.repeat(bytes - 17 - String(id).length)}"}`

/** A store whose create requests are settled by the test; a plant with the id 0 is stored immediately. */
function slowStore (): { store: PlantStore, settle: ((outcome: CreateOutcome) => void)[] } {
  const settle: ((outcome: CreateOutcome) => void)[] = []
  const store: PlantStore = {
    create: async ({ id }) => id === 0n ? 'stored' : new Promise(resolve => { settle.push(resolve) })
  }
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

t.test('a create beyond QUEUE_BYTES is 503, 50301, by its Content-Length before its body is read', async t => {
  const { connect, create, held, send, settle } = await serveSlowStore(t)
  t.equal(plant(300, 12).length, 300)
  const pending = [1, 2, 3].map(id => create(300, id))
  await until(() => settle.length === 3)
  const refused = await send(plant(101))
  answersError(t, refused, 50301, TOO_LARGE)
  t.match(refused.headers['retry-after'], /^[1-9]\d*$/)
  const answer = await (await connect()).write(...HEAD, 'Content-Length: 101', '', '').answer()
  t.match(answer, { status: 503, headers: { 'retry-after': /^\d+$/ }, body: TOO_LARGE.source.slice(1, -1) })
  t.equal(await create(100), 200, 'a body that fits is accepted')
  settle[0]?.('stored')
  t.equal(await pending[0], 200)
  t.equal(await create(400), 200)
  for (const resolve of settle) resolve('stored')
  await Promise.all(pending)
  t.equal(await create(1_000), 200)
  await held(0)
})

t.test('bytes count once they are received, until the body is complete or the client disconnects', async t => {
  const { connect, create, held } = await serveSlowStore(t, { QUEUE_BYTES: 12_000 })
  for (let client = 0; client < 10; client++) (await connect()).write(...HEAD, 'Content-Length: 12000', '', '')
  await sleep(50)
  t.equal(await create(12_000), 200, 'announced bytes do not count')
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

t.test('each further chunk of a body counts 512 bytes more', async t => {
  const { connect, held } = await serveSlowStore(t, { QUEUE_BYTES: 10_000 })
  const send = async (chunks: number) => {
    const body = [...plant(100, 0)].map(character => `1\r\n${character}\r\n`)
    const rest = body.splice(chunks).join('').replaceAll(/1\r\n|\r\n/g, '')
    const last = rest === '' ? '' : `${rest.length.toString(16)}\r\n${rest}\r\n`
    const connection = (await connect()).write(...HEAD, CHUNKED, '', `${body.join('')}${last}0\r\n\r\n`)
    return (await connection.answer()).status
  }
  t.equal(await send(10), 200)
  t.equal(await send(100), 503)
  await held(0)
})

t.test('the bytes of a request that is refused for another reason are released', async t => {
  const { held, send, port } = await serveSlowStore(t, { BODY_LIMIT: 500 })
  for (const body of ['{', '{}', '', '[]', plant(501)]) t.not((await send(body)).statusCode, 200)
  for (const headers of [{ authorization: undefined }, { 'content-type': 'text/plain' }]) {
    t.not((await send(plant(100), headers)).statusCode, 200)
  }
  const answerTo = async (length: string, ...pieces: string[]) => (
    await exchange(port, [[...HEAD, length, '', ''].join('\r\n'), ...pieces])
  ).answers
  for (const pieces of [['{', '}'], ['{', 'x'.repeat(99)], ['{}', `,${plant(97)}`]]) {
    t.match(await answerTo(`Content-Length: ${pieces.join('').length}`, ...pieces), [{ status: 400 }])
  }
  t.match(await answerTo(CHUNKED, '1\r\n{\r\n', 'zz\r\n'), [{ status: 400 }], 'a broken chunk')
  t.match(await answerTo(CHUNKED, '1\r\n{\r\n', `1f4\r\n${'x'.repeat(500)}\r\n0\r\n\r\n`), [{ status: 413 }])
  await held(0)
})

t.test('a body of exactly the limit is accepted, and one byte more is not', async t => {
  const body = '{"id":1,"name":"Monstera"}'
  for (const [limit, status] of [[body.length, 200], [body.length - 1, 413]] as const) {
    const { create } = await buildService(t, forgetfulStore(), { BODY_LIMIT: limit })
    t.equal((await create(body)).statusCode, status)
  }
})
