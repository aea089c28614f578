import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { BearerTokens } from '../../src/bearer-tokens.js'
import { answersError, answersPlant, buildService, TOKEN } from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'

const PLANT = { id: 1, name: 'x' }
const MISSING = 'Bearer realm="plant-store"'
const MALFORMED = `${MISSING}, error="invalid_token", error_description="the token is malformed"`
const UNKNOWN = `${MISSING}, error="invalid_token", error_description="the token is not accepted"`

function assertChallenge (
  t: Test, response: LightMyRequestResponse, error: number, challenge: string, name = response.body
): void {
  answersError(t, response, error, error === 40101 ? /^No well-formed credentials: send the header Authorization: Bearer <ACCESS_TOKEN>$/ : /^The access token is not accepted$/, name)
  t.equal(response.headers['www-authenticate'], challenge, name)
}

const bearer = (...tokens: string[]) => tokens.map(token => `Bearer ${token}`)
const LONGER = `${TOKEN}-than-the-other`

const refused: [name: string, error: number, challenge: string, credentials: (string | undefined)[]][] = [
  ['missing credentials, or those of another scheme, are 401, 40101, with a challenge that names no error', 40101, MISSING, [
    undefined, '', ' ', 'Basic dXNlcjpwYXNz', 'Basic', TOKEN, `Token ${TOKEN}`, `Bearer${TOKEN}`, `Bearer:${TOKEN}`, `Digest ${TOKEN}`, '"Bearer" x', `Bearer\t${TOKEN}`,
    `Basic Bearer ${TOKEN}`, `XBearer ${TOKEN}`
  ]],
  ['malformed credentials are 401, 40101, with error="invalid_token"', 40101, MALFORMED, [
    'Bearer', ...bearer('', `${TOKEN} ${TOKEN}`, `${TOKEN},${TOKEN}`, `"${TOKEN}"`, `${TOKEN}, Basic x`, 'a=b', '=', '{}', 'tökén')
  ]],
  ['white space that RFC 9110 does not allow makes credentials malformed, even around an accepted token', 40101, MALFORMED, bearer(`\u00a0${TOKEN}`, `${TOKEN}\u00a0`)],
  ['neither padding nor a character beyond one byte makes a token equal to an accepted one', 40101, MALFORMED, bearer(
    // In Latin-1, ų (U+0173) would be written as s.
    `${TOKEN}\0`, TOKEN.padEnd(LONGER.length, '\0'), TOKEN.replace(/s$/, '\u0173')
  )],
  ['an unknown token is 401, 40102', 40102, UNKNOWN, bearer(
    'an-unknown-token', TOKEN.slice(1), TOKEN.slice(0, -1), `${TOKEN}x`, `${TOKEN}=`, TOKEN.toUpperCase(), `${LONGER}x`, 'x'.repeat(8_000)
  )]
]

for (const [name, error, challenge, credentials] of refused) {
  t.test(name, async t => {
    const store = forgetfulStore()
    const { create } = await buildService(t, store, { tokens: [TOKEN, LONGER] })
    for (const authorization of credentials) {
      const name = JSON.stringify(authorization)?.slice(0, 40)
      assertChallenge(t, await create(PLANT, { authorization }), error, challenge, name)
    }
    t.equal(store.plants.length, 0)
  })
}

t.test('each accepted token passes; the scheme is case-insensitive, and any number of spaces may follow it', async t => {
  const { create } = await buildService(t, forgetfulStore(), { tokens: [TOKEN, 'another-token/+~.=='] })
  for (const authorization of [`Bearer ${TOKEN}`, 'Bearer another-token/+~.==', `bearer ${TOKEN}`, `BEARER ${TOKEN}`, `Bearer   ${TOKEN}`]) {
    answersPlant(t, await create(PLANT, { authorization }), { name: 'x' }, authorization)
  }
})

t.test('credentials are checked before anything else in a POST', async t => {
  const { create } = await buildService(t, forgetfulStore(), { BODY_LIMIT: 100 })
  for (const [body, headers] of [
    ['{', {}], [undefined, {}], ['x'.repeat(101), {}], ['x', { 'content-type': 'text/plain' }], ['{"__proto__":1}', {}]
  ] as [string | undefined, Record<string, string>][]) {
    assertChallenge(t, await create(body, { ...headers, authorization: undefined }), 40101, MISSING, body?.slice(0, 20))
  }
})

t.test('a token function may be synchronous or asynchronous, and is called with well-formed tokens only', async t => {
  for (const decide of [(token: string) => token === TOKEN, async (token: string) => token === TOKEN]) {
    const asked: string[] = []
    const { create } = await buildService(t, forgetfulStore(), {
      tokens: token => {
        asked.push(token)
        return decide(token)
      }
    })
    answersPlant(t, await create(PLANT), { name: 'x' })
    assertChallenge(t, await create(PLANT, { authorization: 'Bearer an-unknown-token' }), 40102, UNKNOWN)
    assertChallenge(t, await create(PLANT, { authorization: 'Bearer a=b' }), 40101, MALFORMED)
    assertChallenge(t, await create(PLANT, { authorization: undefined }), 40101, MISSING)
    t.strictSame(asked, [TOKEN, 'an-unknown-token'])
  }
})

t.test('a token function that throws, rejects or returns no boolean accepts no token: 500, without internal detail', async t => {
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
    answersError(t, response, 50001, /^The access token could not be checked; this request did not store the plant$/)
    t.notMatch(response.body, /secret/)
    t.equal(store.plants.length, 0)
    t.equal(log.length, 1, 'the failure is logged')
    t.notOk(log.join().includes(TOKEN))
  }
})

const anyToken = fc.stringMatching(/^[A-Za-z0-9\-._~+/]{1,40}={0,3}$/)

t.test('a token is accepted if and only if it is in the set', async () => {
  fc.assert(fc.property(fc.array(anyToken, { minLength: 1, maxLength: 5 }), anyToken, (tokens, token) => {
    const accepted = new BearerTokens(tokens)
    return tokens.every(token => accepted.accepts(token)) && accepted.accepts(token) === tokens.includes(token)
  }))
})

t.test('an empty set or an invalid token is refused, and the message contains no token', async t => {
  t.throws(() => new BearerTokens([]), new TypeError('the list is empty: there must be at least one access token'))
  for (const wrong of ['with space', 'ünïcode', '', '=', '==', 'a=b', 'new\nline', 'comma,token', 'nul\0']) {
    t.throws(() => new BearerTokens(['fine', wrong]), { name: 'TypeError', message: /^access token 2 of 2 is not a b64token \(RFC 6750, section 2\.1\)/ })
  }
  t.throws(() => new BearerTokens([12 as unknown as string]), { name: 'TypeError', message: /^access token 1 of 1/ })
  t.throws(() => new BearerTokens(['se cret']), { message: /^((?!se cret).)*$/ })
})
