import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { BearerTokens } from '../../src/route/bearer-tokens.js'
import {
  PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type PlantStore
} from '../../src/stores/store.js'
import { answersError, answersPlant, buildService, TOKEN } from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { onBothStores, type NewPlace } from '../support/stores/places.js'
import { until } from '../support/until.js'

onBothStores(t, (t: Test, newPlace: NewPlace) => {
  t.test('a new plant is stored, again is the same; another with its id is refused, and changes nothing', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    const plants = [{ name: 'Monstera', tag: 'aroid' }, { name: 'Ficus' }, { name: '', tag: '' }]
    for (const [id, plant] of [...plants.entries(), ...plants.entries()]) {
      answersPlant(t, await create({ id, ...plant }), plant)
    }
    answersPlant(t, await create('{"name":"Fi\\u0063us","id":1.0}'), { name: 'Ficus' }, 'the same in any spelling')
    for (const other of [
      { id: 0, name: 'Monstera' }, { id: 0, name: 'Other', tag: 'aroid' }, { id: 1, name: 'Ficus', tag: '' },
      { id: 2, name: '' }
    ]) answersError(t, await create(other), 40004, /^Another plant has this id/)
    t.strictSame(await place.stored(), new Map(plants.map((plant, id) => [BigInt(id), plant])))
  })

  t.test('unknown fields are ignored, and are not stored', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    const unknown = { height: 2, Tag: 'tree', _id: 7, Name: 'x', $set: { name: 'y' }, constructor: 'z' }
    const numbers = '"weight":1e400,"height":12345678901234567890.5,"deep":{"id":[9007199254740993]}'
    const plant = { id: 1, name: 'Ficus' }
    for (const body of [{ ...plant, ...unknown }, `{"id":2,"name":"Ficus",${numbers}}`, plant]) {
      answersPlant(t, await create(body), { name: 'Ficus' })
    }
    t.strictSame(await place.stored(), new Map([[1n, { name: 'Ficus' }], [2n, { name: 'Ficus' }]]))
  })

  t.test('any well-formed Unicode text is stored and returned unchanged', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    const expected = new Map<bigint, object>()
    let id = 0n
    async function keeps (name: string, tag: string): Promise<boolean> {
      expected.set(++id, { name, tag })
      const response = await create(`{"id":${id},"name":${JSON.stringify(name)},"tag":${JSON.stringify(tag)}}`)
      const plant = response.json()
      if (response.statusCode !== 200) t.comment(response.body)
      return response.statusCode === 200 && plant.name === name && plant.tag === tag
    }
    for (const text of [
      '\0', 'a\0b', '\u2028\u2029', '\u007f\u0080', '\ufeff', '\ufffe\uffff', '🪴', '\u{10ffff}',
      '"\\/\b\f\n\r\t', 'ש֔ל', 'e\u0301'
    ]) t.ok(await keeps(text, text), `text of the bytes ${Buffer.from(text).toString('hex')}`)
    const character = fc.oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
    const text = fc.array(character).map(points => String.fromCodePoint(...points))
    await fc.assert(fc.asyncProperty(text, text, keeps), { numRuns: 50 })
    const stored = await place.stored()
    t.equal(stored.size, expected.size)
    for (const [id, plant] of expected) {
      const found = stored.get(id)
      if (!isDeepStrictEqual(found, plant)) t.fail(`stored as ${escaped(found)} instead of ${escaped(plant)}`)
    }
  })
})

/** ASCII only, for messages that are safe in any terminal and TAP parser. */
function escaped (value: unknown): string {
  return JSON.stringify(value).replace(/[^ -~]/gu, text => `\\u{${(text.codePointAt(0) as number).toString(16)}}`)
}

const STORED = { name: 'a name that no log may contain', tag: 'a tag that no log may contain' }
const PLANT = { id: 1, ...STORED }

/** A store whose requests stay pending until the test settles them. */
function waitingStore () {
  const waiting: { resolve: (outcome: CreateOutcome) => void, reject: (reason: unknown) => void }[] = []
  const store: PlantStore = { create: () => new Promise((resolve, reject) => { waiting.push({ resolve, reject }) }) }
  return { store, waiting }
}

function checkLog (t: Test, log: string[], level: number, statusCode: number, message: string): void {
  t.equal(log.length, 1)
  const line = JSON.parse(log[0] as string)
  const why = statusCode === 500 ? { err: { message } } : { reason: message }
  t.match(line, { level, statusCode, reqId: String, ...why })
  t.notMatch(log[0], /no log may contain/)
  t.notOk(log.join().includes(TOKEN))
}

t.test('any other failure of a store is 500, 50001, without internal detail, which is logged', async t => {
  const message = 'secret detail'
  const errors = [
    new TypeError(message), Object.assign(new Error(message), { statusCode: 200, code: 'FST_ERR_BAD_URL' }),
    Object.assign(new Error(message), { validation: [{ instancePath: '/id' }] })
  ]
  const failures = [...errors, undefined, null, message, 42, { id: 1 }].flatMap(value => [
    { value, isLogged: value instanceof Error, create: () => { throw value } },
    { value, isLogged: value instanceof Error, create: async () => { throw value } },
    { value, isLogged: false, create: async () => value as CreateOutcome },
    { value, isLogged: false, create: () => value as unknown as Promise<CreateOutcome> }
  ])
  const stores: PlantStore['create'][] = failures.map(({ create }) => create)
  const { create, log } = await buildService(t, {
    create: (plant, deadline) => (stores[Number(plant.id)] ?? forgetfulStore().create)(plant, deadline)
  })
  for (const [id, { value, isLogged }] of failures.entries()) {
    const [failed, stored] = await Promise.all([create({ ...PLANT, id }), create({ id: 1_000, name: 'Fern' })])
    answersError(t, failed, 50001, /^The service failed and the plant may have been stored: retrying the same plant is/)
    t.notMatch(failed.body, /secret/)
    t.notOk('retry-after' in failed.headers)
    answersPlant(t, stored, { name: 'Fern' }, `a request beside ${String(value)}`)
    if (isLogged) checkLog(t, log, 50, 500, message)
    log.length = 0
  }
})

t.test('PlantNotStored is 503, 50301, with Retry-After; PlantOutcomeUnknown is 504, 50401', async t => {
  const notStored = /^This request did not store the plant: retry later$/
  const unknown = /^The plant may have been stored: retry the same plant, which is always safe$/
  for (const { fault, error, message } of [
    { fault: new PlantNotStored('secret detail'), error: 50301, message: notStored },
    { fault: new PlantOutcomeUnknown('secret detail'), error: 50401, message: unknown }
  ]) {
    const { create, log } = await buildService(t, { create: async () => { throw fault } })
    const response = await create(PLANT)
    answersError(t, response, error, message)
    t.match(response.headers['retry-after'] ?? '', error === 50301 ? /^[1-9]\d*$/ : /^$/)
    checkLog(t, log, 40, Math.floor(error / 100), 'secret detail')
  }
})

t.test('a store that does not respond within STORE_TIMEOUT is 504, 50401, and a later outcome is ignored', async t => {
  const { store, waiting } = waitingStore()
  const { create, log } = await buildService(t, store, { STORE_TIMEOUT: 500 })
  const start = performance.now()
  const responses = await Promise.all([create(PLANT), create(PLANT), create(PLANT)])
  const elapsed = performance.now() - start
  t.ok(elapsed > 475 && elapsed < 1_400, `${elapsed} ms`)
  for (const response of responses) answersError(t, response, 50401, /^The plant may have been stored/)
  t.match(JSON.parse(log[0] as string), { reason: /did not respond in time/ })
  waiting[0]?.resolve('stored')
  waiting[1]?.resolve('taken')
  waiting[2]?.reject(new Error('too late'))
  await sleep(5)
  t.equal(log.length, 3)
})

t.test('beyond QUEUE_LIMIT, a create is 503, 50301, with Retry-After, until the store settles one', async t => {
  const { store, waiting } = waitingStore()
  const { create, log } = await buildService(t, store, { QUEUE_LIMIT: 2, STORE_TIMEOUT: 700 })
  const [first, second] = [create(PLANT), create(PLANT)]
  await until(() => waiting.length === 2)
  const full = /^Too many create requests are pending; this request did not store the plant: retry later$/
  const refused = await create(PLANT)
  answersError(t, refused, 50301, full)
  t.match(refused.headers['retry-after'], /^[1-9]\d*$/)
  t.strictSame([waiting.length, log.length], [2, 1], 'it does not reach the store')

  waiting[0]?.resolve('taken')
  answersError(t, await first, 40004, /^Another plant has this id/)
  const third = create(PLANT)
  await until(() => waiting.length === 3)
  waiting[2]?.resolve('same')
  t.equal((await third).statusCode, 200)

  answersError(t, await second, 50401, /^The plant may/)
  const fourth = create(PLANT)
  await until(() => waiting.length === 4)
  answersError(t, await create(PLANT), 50301, full, 'a request counts even after its response')
  waiting[1]?.reject(new PlantNotStored('gave up'))
  waiting[3]?.resolve('stored')
  t.equal((await fourth).statusCode, 200)
  const fifth = [create(PLANT), create(PLANT)]
  await until(() => waiting.length === 6)
  for (const { resolve } of waiting) resolve('stored')
  for (const response of fifth) t.equal((await response).statusCode, 200)
})

const MISSING = 'Bearer realm="plant-store"'
const MALFORMED = `${MISSING}, error="invalid_token", error_description="the token is malformed"`
const UNKNOWN = `${MISSING}, error="invalid_token", error_description="the token is not accepted"`

function assertChallenge (
  t: Test, response: LightMyRequestResponse, error: number, challenge: string, name = response.body
): void {
  const missing = /^No well-formed credentials: send the header Authorization: Bearer <ACCESS_TOKEN>$/
  answersError(t, response, error, error === 40101 ? missing : /^The access token is not accepted$/, name)
  t.equal(response.headers['www-authenticate'], challenge, name)
}

const bearer = (...tokens: string[]) => tokens.map(token => `Bearer ${token}`)
const LONGER = `${TOKEN}-than-the-other`

const refused: Record<string, { error: number, challenge: string, credentials: (string | undefined)[] }> = {
  'missing, or of another scheme': {
    error: 40101,
    challenge: MISSING,
    credentials: [
      undefined, '', ' ', 'Basic dXNlcjpwYXNz', 'Basic', TOKEN, `Token ${TOKEN}`, `Bearer${TOKEN}`, `Bearer:${TOKEN}`,
      `Digest ${TOKEN}`, '"Bearer" x', `Bearer\t${TOKEN}`, `Basic Bearer ${TOKEN}`, `XBearer ${TOKEN}`
    ]
  },
  malformed: {
    error: 40101,
    challenge: MALFORMED,
    credentials: [
      'Bearer',
      ...bearer('', `${TOKEN} ${TOKEN}`, `${TOKEN},${TOKEN}`, `"${TOKEN}"`, `${TOKEN}, Basic x`, 'a=b', '=', '{}'),
      // White space that RFC 9110 does not allow, and other letters.
      ...bearer(`\u00a0${TOKEN}`, `${TOKEN}\u00a0`, 'tökén'),
      // Padding; and ų (U+0173), which would be written as s in Latin-1.
      ...bearer(`${TOKEN}\0`, TOKEN.padEnd(LONGER.length, '\0'), TOKEN.replace(/s$/, '\u0173'))
    ]
  },
  'an unknown token': {
    error: 40102,
    challenge: UNKNOWN,
    credentials: bearer(
      'an-unknown-token', TOKEN.slice(1), TOKEN.slice(0, -1), `${TOKEN}x`, `${TOKEN}=`, TOKEN.toUpperCase(),
      `${LONGER}x`, 'x'.repeat(8_000)
    )
  }
}

t.test('credentials that are missing, malformed or unknown are 401, with a challenge that says so', async t => {
  const store = forgetfulStore()
  const { create } = await buildService(t, store, { tokens: [TOKEN, LONGER], BODY_LIMIT: 100 })
  for (const [kind, { error, challenge, credentials }] of Object.entries(refused)) {
    for (const authorization of credentials) {
      const name = `${kind}: ${JSON.stringify(authorization)?.slice(0, 40)}`
      assertChallenge(t, await create(PLANT, { authorization }), error, challenge, name)
    }
  }
  for (const body of ['{', undefined, 'x'.repeat(101), '{"__proto__":1}']) {
    for (const type of ['application/json', 'text/plain']) {
      const response = await create(body, { 'content-type': type, authorization: undefined })
      assertChallenge(t, response, 40101, MISSING, 'credentials are checked before anything else')
    }
  }
  t.equal(store.plants.length, 0)
})

t.test('each accepted token passes; the scheme has any case, and any number of spaces behind it', async t => {
  const { create } = await buildService(t, forgetfulStore(), { tokens: [TOKEN, 'another-token/+~.=='] })
  for (const authorization of [
    `Bearer ${TOKEN}`, 'Bearer another-token/+~.==', `bearer ${TOKEN}`, `BEARER ${TOKEN}`, `Bearer   ${TOKEN}`
  ]) answersPlant(t, await create(PLANT, { authorization }), STORED, authorization)
})

t.test('a token function may be synchronous or asynchronous, and gets well-formed tokens only', async t => {
  for (const decide of [(token: string) => token === TOKEN, async (token: string) => token === TOKEN]) {
    const asked: string[] = []
    const { create } = await buildService(t, forgetfulStore(), {
      tokens: token => {
        asked.push(token)
        return decide(token)
      }
    })
    answersPlant(t, await create(PLANT), STORED)
    assertChallenge(t, await create(PLANT, { authorization: 'Bearer an-unknown-token' }), 40102, UNKNOWN)
    assertChallenge(t, await create(PLANT, { authorization: 'Bearer a=b' }), 40101, MALFORMED)
    assertChallenge(t, await create(PLANT, { authorization: undefined }), 40101, MISSING)
    t.strictSame(asked, [TOKEN, 'an-unknown-token'])
  }
})

t.test('a token function that throws, rejects or returns no boolean accepts no token: 500', async t => {
  const results: (() => unknown)[] = [
    () => { throw new Error('secret detail') },
    async () => { throw new Error('secret detail') },
    () => { throw new Error('401', { cause: 'secret detail' }) },
    // As an error of MongoDB's or of gRPC.
    async () => { throw Object.assign(new Error('secret detail'), { code: 13 }) },
    () => undefined,
    () => 'yes',
    async () => 1
  ]
  const store = forgetfulStore()
  const { create, log } = await buildService(t, store, { tokens: () => results[0]?.() as boolean })
  for (; results.length > 0; results.shift()) {
    const response = await create(PLANT)
    answersError(t, response, 50001, /^The access token could not be checked; this request did not store the plant$/)
    t.notMatch(response.body, /secret/)
    t.equal(log.length, 1, 'the failure is logged')
    t.notOk(log.splice(0).join().includes(TOKEN))
  }
  t.equal(store.plants.length, 0)
})

const anyToken = fc.stringMatching(/^[A-Za-z0-9\-._~+/]{1,40}={0,3}$/)

t.test('a token is accepted if and only if it is in the set', async () => {
  fc.assert(fc.property(fc.array(anyToken, { minLength: 1, maxLength: 5 }), anyToken, (tokens, token) => {
    const accepted = new BearerTokens(tokens)
    return tokens.every(token => accepted.accepts(token)) && accepted.accepts(token) === tokens.includes(token)
  }))
})
