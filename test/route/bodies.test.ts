import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { answersError, answersPlant, buildService, TOKEN, type Service } from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { onBothStores, type NewPlace } from '../support/stores/places.js'
import { anyInt64, anySpelling, HIGHEST, LOWEST, spell } from '../support/stores/spelling.js'

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
      ' ', '{', '{]', '[1,]', '{"id":0,}', '{"id":1 "name":"x"}', "{'id':1}", '{id:1}', '{"id":01,"name":"x"}', '{"id":+1,"name":"x"}', '{"id":0x1}', '{"id":1.,"name":"x"}',
      '{"id":1n}', '{"id":NaN}', '{"id":1}/**/', '{"id":1,"name":"x"}}', '["\\u00A"]', '["\\a"]', '["new\nline"]', '\ufeff\ufeff{}', 'undefined', '<html>', '['.repeat(100_000), '{"a":'.repeat(100_000)
    ]) answersError(t, await create(body), 40002, /^The body is not acceptable JSON/, JSON.stringify(body.slice(0, 40)))
    for (const body of [' [] ', '"\\ud800"', '{"":0}', '[1e400]', '{"a":"b","a":"c"}', '["\\u0000"]', '['.repeat(500) + ']'.repeat(500)]) {
      answersError(t, await create(body), 40003, /./, body)
    }
  },

  async 'a poisoned key is 40002, in any spelling and at any depth' (t, { create }) {
    for (const body of [
      '{"id":1,"name":"x","__proto__":{"admin":true}}', '{"id":1,"name":"x","__proto__":null}', '{"__proto__":{"id":1,"name":"x"}}',
      '{"id":1,"name":"x","\\u005f_proto__":{}}', '{"id":1,"name":"x","_\\u005fproto\\u005F\\u005f":{}}',
      '{"id":1,"name":"x","more":{"deep":[{"__proto__":{}}]}}', '[{"__proto__":{}}]',
      '{"id":1,"name":"x","constructor":{"prototype":{"admin":true}}}', '{"id":1,"name":"x","\\u0063onstructor":{"prototype":{}}}',
      '{"id":1,"name":"x","more":{"constructor":{"prototype":{}}}}'
    ]) answersError(t, await create(body), 40002, /^The body is not acceptable JSON/, body)
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
    }), { numRuns: 100 })
  },

  async 'JSON that is not an object with an id and a name is 40003, and the message names the field' (t, { create }) {
    const id = /^id must be an integer from -9223372036854775808 to 9223372036854775807 \(int64\): a JSON number, not a string$/
    const name = /^name must be a string of well-formed Unicode$/
    const tag = /^tag must be a string of well-formed Unicode, or be left out$/
    const refused: [body: string, message: RegExp][] = [
      ...['null', 'true', '1', '9007199254740993', '1.5', '"x"', '[]', '[{"id":1,"name":"x"}]'].map((body): [string, RegExp] => [body, /^The body is not a valid plant/]),
      ['{}', /^id is missing: id must be/],
      ['{"name":"x"}', /^id is missing: id must be/],
      ['{"id":1}', /^name is missing: name must be/],
      ['{"id":1,"tag":"x"}', /^name is missing: name must be/],
      ['{"id":1,"Name":"x"}', /^name is missing: name must be/],
      ['{"id":9223372036854775808,"name":"x"}', id],
      ...['"1"', '1.5', 'true', 'null', '[]', '{}'].map((value): [string, RegExp] => [`{"id":${value},"name":"x"}`, id]),
      ...['1', 'true', 'null', '[]', '["x"]', '{}'].map((value): [string, RegExp] => [`{"id":1,"name":${value}}`, name]),
      ...['1', 'false', 'null', '[]', '{}'].map((value): [string, RegExp] => [`{"id":1,"name":"x","tag":${value}}`, tag])
    ]
    for (const [body, message] of refused) answersError(t, await create(body), 40003, message, body)
  },

  async 'a lone surrogate is 40003, at any position' (t, { create }) {
    for (const text of ['\\ud800', '\\udfff', 'a\\ud83cb', '\\udf31\\ud83c', '\\ud83c\\ud83c\\udf31']) {
      answersError(t, await create(`{"id":1,"name":"${text}"}`), 40003, /^name must be a string of well-formed Unicode$/, text)
      answersError(t, await create(`{"id":1,"name":"x","tag":"${text}"}`), 40003, /^tag must be a string of well-formed Unicode/, text)
    }
    const surrogate = fc.integer({ min: 0xd800, max: 0xdfff }).map(unit => String.fromCharCode(unit))
    await fc.assert(fc.asyncProperty(fc.string({ unit: 'binary' }), surrogate, fc.string({ unit: 'binary' }), async (before, lone, after) => {
      const name = before + lone + after
      fc.pre(!name.isWellFormed())
      return (await create(`{"id":1,"name":${JSON.stringify(name)}}`)).json().error === 40003
    }), { numRuns: 100 })
  },

  async 'a body that is not application/json, or is encoded, is 415, 41501' (t, { create }) {
    const body = '{"id":1,"name":"x"}'
    const message = /^The body must be JSON, unencoded: send the header Content-Type: application\/json$/
    for (const type of ['text/plain', 'application/vnd.api+json', undefined]) {
      answersError(t, await create(body, { 'content-type': type }), 41501, message, `content type ${type}`)
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

const NOT_INT64 = /^id must be an integer from -9223372036854775808 to 9223372036854775807 \(int64\)/

const integers: [literal: string, id: bigint][] = [
  ['0', 0n], ['-0', 0n], ['0.0', 0n], ['-0e0', 0n], ['0e999999999999', 0n], ['1', 1n], ['-1', -1n], ['1.0', 1n], ['1e3', 1000n], ['1E+3', 1000n],
  ['120e-1', 12n], ['0.000', 0n], ['-0.0E-7', 0n], ['12.50e1', 125n], ['1200e-2', 12n], ['0.0012e4', 12n], ['2147483647', 2n ** 31n - 1n], ['2147483648', 2n ** 31n], ['-2147483649', -(2n ** 31n) - 1n],
  ['9007199254740991', 2n ** 53n - 1n], ['9007199254740992', 2n ** 53n], ['9007199254740993', 2n ** 53n + 1n],
  ['-9007199254740991', 1n - 2n ** 53n], ['-9007199254740992', -(2n ** 53n)], ['-9007199254740993', -(2n ** 53n) - 1n],
  ['9007199254740993.0', 2n ** 53n + 1n], ['9.007199254740993e15', 2n ** 53n + 1n],
  ['9223372036854775806', HIGHEST - 1n], ['9223372036854775807', HIGHEST], ['-9223372036854775807', LOWEST + 1n], ['-9223372036854775808', LOWEST],
  ['9.223372036854775807e18', HIGHEST], ['922337203685477580.7e1', HIGHEST], ['92233720368547758070e-1', HIGHEST], ['-9.223372036854775808E18', LOWEST],
  ['9223372036854775807000e-3', HIGHEST], ['0.00009223372036854775807e23', HIGHEST],
  ['9e18', 9n * 10n ** 18n]
]

const notInt64 = [
  '9223372036854775808', '-9223372036854775809', '18446744073709551616', '9.223372036854775808e18', '-9.223372036854775809e18', '10e18', '1e19',
  '1e400', '-1e400', '1e999999999999', '1e-1', '1e-999999999999', '1.5', '-0.5', '1.00000000000000000001', '9007199254740993.5', '0.1e0', '12e-2',
  '9223372036854775807.1', '123456789012345678901234567890'
]

await onBothStores(t, (t: Test, newPlace: NewPlace) => {
  t.test('an id is exact over all of int64, in any spelling', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    const name = 'Ficus'
    for (const [literal] of integers) answersPlant(t, await create(`{"id":${literal},"name":"${name}"}`), { name }, `id ${literal}`)
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
      '{"id":2,"name":"x","id":1.5}', '{"id":9007199254740993,"name":"x","id":"4"}', '{"id":9007199254740993,"name":"x","id":null}',
      '{"more":{"id":9007199254740993},"id":1e-1,"name":"x"}'
    ]) answersError(t, await create(body), 40003, NOT_INT64, body)
    answersError(t, await create('{"more":{"id":9007199254740993},"name":"x"}'), 40003, /^id is missing: id must be an integer/)
    answersError(t, await create('{"ID":9007199254740993,"name":"x"}'), 40003, /^id is missing: id must be an integer/)
    t.equal((await place.stored()).size, bodies.length)
  })

  t.test('an id that is not an int64 is refused with a message that names it, and nothing is stored', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    for (const literal of [...notInt64, 'true', 'false', 'null', '""', '"1"', '[]', '[1]', '{}']) {
      answersError(t, await create(`{"id":${literal},"name":"x"}`), 40003, NOT_INT64, `id ${literal}`)
    }
    await fc.assert(
      fc.asyncProperty(anyInt64, fc.integer({ min: 1, max: 20 }), anySpelling, async (units, decimals, spelling) => {
        fc.pre(units % 10n !== 0n)
        return (await create(`{"id":${spell(units, decimals, spelling)},"name":"x"}`)).json().error === 40003
      }),
      { numRuns: 200 }
    )
    const beyond = fc.oneof(
      fc.bigInt({ min: HIGHEST + 1n, max: 2n ** 80n }),
      fc.bigInt({ min: -(2n ** 80n), max: LOWEST - 1n })
    )
    await fc.assert(fc.asyncProperty(beyond, anySpelling, async (integer, spelling) =>
      (await create(`{"id":${spell(integer, 0, spelling)},"name":"x"}`)).json().error === 40003), { numRuns: 100 })
    t.equal((await place.stored()).size, 0)

    const expected = new Map<bigint, object>()
    await fc.assert(fc.asyncProperty(anyInt64, anySpelling, async (id, spelling) => {
      expected.set(id, { name: 'x' })
      return (await create(`{"id":${spell(id, 0, spelling)},"name":"x"}`)).statusCode === 200
    }), { numRuns: 200 })
    t.strictSame(await place.stored(), expected, 'any int64 in any spelling is stored to the digit')
  })
})
