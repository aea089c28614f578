import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { answersError, answersPlant, buildService, TOKEN } from '../support/http/service.js'

const PLANT = { id: 1, name: 'x' }
const MISSING = 'Bearer realm="plant-store"'
const MALFORMED = `${MISSING}, error="invalid_token", error_description="the token is malformed"`
const UNKNOWN = `${MISSING}, error="invalid_token", error_description="the token is not accepted"`

function challenges (
  t: Test, response: LightMyRequestResponse, error: number, challenge: string, name = response.body
): void {
  answersError(t, response, error, error === 40101 ? /^No well-formed credentials: send the header Authorization: Bearer <ACCESS_TOKEN>$/ : /^The access token is not accepted$/, name)
  t.equal(response.headers['www-authenticate'], challenge, name)
}

t.test('without credentials, or with those of another scheme, the answer is 401, 40101, and names no error', async t => {
  const store = forgetfulStore()
  const { create } = await buildService(t, store)
  challenges(t, await create(PLANT, { authorization: undefined }), 40101, MISSING)
  for (const authorization of ['', ' ', 'Basic dXNlcjpwYXNz', 'Basic', TOKEN, `Token ${TOKEN}`, `Bearer${TOKEN}`, `Bearer:${TOKEN}`, `Digest ${TOKEN}`, '"Bearer" x', `Bearer\t${TOKEN}`, `Basic Bearer ${TOKEN}`, `XBearer ${TOKEN}`]) {
    challenges(t, await create(PLANT, { authorization }), 40101, MISSING, authorization)
  }
  t.equal(store.plants.length, 0)
})

t.test('malformed credentials are 401, 40101, and an invalid token', async t => {
  const store = forgetfulStore()
  const { create } = await buildService(t, store)
  for (const authorization of [
    'Bearer', 'Bearer ', `Bearer ${TOKEN} ${TOKEN}`, `Bearer ${TOKEN},${TOKEN}`, `Bearer "${TOKEN}"`, `Bearer ${TOKEN}, Basic x`, 'Bearer a=b', 'Bearer =', 'Bearer {}', 'Bearer tökén'
  ]) challenges(t, await create(PLANT, { authorization }), 40101, MALFORMED, authorization)
  t.equal(store.plants.length, 0)
})

t.test('white space that RFC 9110 does not allow makes credentials malformed, also around an accepted token', async t => {
  const store = forgetfulStore()
  const { create } = await buildService(t, store)
  for (const authorization of [`Bearer \u00a0${TOKEN}`, `Bearer ${TOKEN}\u00a0`]) {
    challenges(t, await create(PLANT, { authorization }), 40101, MALFORMED, JSON.stringify(authorization))
  }
  t.equal(store.plants.length, 0)
})

t.test('neither padding nor a character that a byte cannot hold makes a token equal to an accepted one', async t => {
  const store = forgetfulStore()
  const { create } = await buildService(t, store, { tokens: ['a-short-token-or-so', 'a-much-longer-token-than-the-other'] })
  for (const token of ['a-short-token-or-so\0', 'a-short-token-or-so'.padEnd(34, '\0'), 'a-short-token-or-s\u016f']) {
    challenges(t, await create(PLANT, { authorization: `Bearer ${token}` }), 40101, MALFORMED, JSON.stringify(token))
  }
  t.equal(store.plants.length, 0)
})

t.test('an unknown token is 401, 40102', async t => {
  const store = forgetfulStore()
  const { create } = await buildService(t, store)
  for (const token of ['an-unknown-token', TOKEN.slice(1), TOKEN.slice(0, -1), `${TOKEN}x`, `${TOKEN}=`, TOKEN.toUpperCase(), 'x'.repeat(8_000)]) {
    challenges(t, await create(PLANT, { authorization: `Bearer ${token}` }), 40102, UNKNOWN, token.slice(0, 30))
  }
  t.equal(store.plants.length, 0)
})

t.test('each accepted token passes; the scheme is case-insensitive, and any number of spaces may follow it', async t => {
  const { create } = await buildService(t, forgetfulStore(), { tokens: [TOKEN, 'another-token/+~.=='] })
  for (const authorization of [`Bearer ${TOKEN}`, 'Bearer another-token/+~.==', `bearer ${TOKEN}`, `BEARER ${TOKEN}`, `Bearer   ${TOKEN}`]) {
    answersPlant(t, await create(PLANT, { authorization }), { name: 'x' }, authorization)
  }
})

t.test('credentials are looked at before anything else of a POST', async t => {
  const { create } = await buildService(t, forgetfulStore(), { BODY_LIMIT: 100 })
  for (const [body, headers] of [
    ['{', {}], [undefined, {}], ['x'.repeat(101), {}], ['x', { 'content-type': 'text/plain' }], ['{"__proto__":1}', {}]
  ] as [string | undefined, Record<string, string>][]) {
    challenges(t, await create(body, { ...headers, authorization: undefined }), 40101, MISSING, body?.slice(0, 20))
  }
})

t.test('a refusal is not logged, and neither is any token', async t => {
  const { create, log } = await buildService(t, forgetfulStore())
  await create(PLANT, { authorization: 'Bearer an-unknown-token' })
  await create(PLANT)
  t.strictSame(log, [])
})

t.test('a function may decide, at once or later, and is asked about well-formed tokens only', async t => {
  for (const decide of [(token: string) => token === TOKEN, async (token: string) => token === TOKEN]) {
    const asked: string[] = []
    const { create } = await buildService(t, forgetfulStore(), {
      tokens: token => {
        asked.push(token)
        return decide(token)
      }
    })
    answersPlant(t, await create(PLANT), { name: 'x' })
    challenges(t, await create(PLANT, { authorization: 'Bearer an-unknown-token' }), 40102, UNKNOWN)
    challenges(t, await create(PLANT, { authorization: 'Bearer a=b' }), 40101, MALFORMED)
    challenges(t, await create(PLANT, { authorization: undefined }), 40101, MISSING)
    t.strictSame(asked, [TOKEN, 'an-unknown-token'])
  }
})

t.test('a function sees the request', async t => {
  const { create } = await buildService(t, forgetfulStore(), { tokens: (_token, { headers }) => headers['x-account'] === 'gardener' })
  answersPlant(t, await create(PLANT, { 'x-account': 'gardener' }), { name: 'x' })
  challenges(t, await create(PLANT), 40102, UNKNOWN)
})

t.test('a function that throws, rejects or decides nothing lets nobody in: 500, without inner detail', async t => {
  for (const tokens of [
    () => { throw new Error('secret detail') },
    async () => { throw new Error('secret detail') },
    () => { throw new Error('401', { cause: 'secret detail' }) },
    () => undefined as unknown as boolean,
    () => 'yes' as unknown as boolean,
    async () => 1 as unknown as boolean
  ]) {
    const store = forgetfulStore()
    const { create, log } = await buildService(t, store, { tokens })
    const response = await create(PLANT)
    answersError(t, response, 50001, /^The access token could not be checked; the plant is not stored$/)
    t.notMatch(response.body, /secret/)
    t.equal(store.plants.length, 0)
    t.equal(log.length, 1, 'but it is logged')
    t.notOk(log.join().includes(TOKEN))
  }
})
