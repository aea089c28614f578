import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { answersError, buildService, TOKEN, type Service } from '../../support/http/service.js'
import { forgetfulStore } from '../../support/stores/forgetful-store.js'

const refusals: Record<string, (t: Test, service: Service) => Promise<void>> = {
  async 'a body that is absent or empty is 40001' (t, { app, create }) {
    const message = /^The request has no body: send a plant as JSON/
    answersError(t, await create(), 40001, message, 'absent')
    answersError(t, await create(''), 40001, message, 'empty')
    answersError(t, await create(Buffer.alloc(0)), 40001, message, 'no bytes')
    const bare = await app.inject({ method: 'POST', url: '/plants', headers: { authorization: `Bearer ${TOKEN}` } })
    answersError(t, bare, 40001, message, 'absent, without a content type')
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
    const id = /^id must be an integer from -9223372036854775808 to 9223372036854775807 \(int64\)$/
    const name = /^name must be a string of well-formed Unicode$/
    const tag = /^tag must be a string of well-formed Unicode, or be left out$/
    const refused: [body: string, message: RegExp][] = [
      ...['null', 'true', '1', '9007199254740993', '1.5', '"x"', '[]', '[{"id":1,"name":"x"}]'].map((body): [string, RegExp] => [body, /^The body is not a valid plant/]),
      ['{}', /^id is missing: id must be/],
      ['{"name":"x"}', /^id is missing: id must be/],
      ['{"id":1}', /^name is missing: name must be/],
      ['{"id":1,"tag":"x"}', /^name is missing: name must be/],
      ['{"id":1,"Name":"x"}', /^name is missing: name must be/],
      ...['"1"', '1.5', 'true', 'null', '9223372036854775808', '[]', '{}'].map((value): [string, RegExp] => [`{"id":${value},"name":"x"}`, id]),
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
    for (const type of [
      'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/xml', 'application/jsonx', 'application/json-patch+json',
      'application/vnd.api+json', 'text/json', 'json', 'application', 'application/', '/json', ' ', ',', 'application/json, text/plain', 'application/ json', '*/*', 'x-application/json'
    ]) answersError(t, await create(body, { 'content-type': type }), 41501, message, `content type ${type}`)
    answersError(t, await create(body, { 'content-type': undefined }), 41501, message, 'no content type')
    for (const encoding of ['gzip', 'br', 'identity, gzip', '']) {
      answersError(t, await create(body, { 'content-encoding': encoding }), 41501, message, `encoding ${encoding}`)
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
