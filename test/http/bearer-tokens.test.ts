import fc from 'fast-check'
import t from 'tap'
import { BearerTokens } from '../../src/http/bearer-tokens.js'

const anyToken = fc.stringMatching(/^[A-Za-z0-9\-._~+/]{1,40}={0,3}$/)

t.test('no part of a previous token affects a later comparison, nor do characters that no token has', async t => {
  const { accepts } = new BearerTokens(['token', 'tokenlonger'])
  t.equal(accepts('tokenlonger'), true)
  t.equal(accepts('token'), true)
  t.equal(accepts('tokenlonge'), false)
  t.equal(accepts('token\0'), false)
  t.equal(accepts('\u0174oken'), false, 'its low byte is that of a t')
})

t.test('a token is accepted if and only if it is in the set', async () => {
  fc.assert(fc.property(fc.array(anyToken, { minLength: 1, maxLength: 5 }), anyToken, (tokens, token) => {
    const { accepts } = new BearerTokens(tokens)
    return tokens.every(accepts) && accepts(token) === tokens.includes(token)
  }))
})

t.test('an empty set or an invalid token is refused, and the message contains no token', async t => {
  t.throws(() => new BearerTokens([]), new TypeError('there must be at least one access token'))
  for (const wrong of ['with space', 'ünïcode', '', '=', '==', 'a=b', 'new\nline', 'comma,token', 'nul\0']) {
    t.throws(() => new BearerTokens(['fine', wrong]), { name: 'TypeError', message: /^access token 2 of 2 is not a b64token \(RFC 6750, section 2\.1\)/ })
  }
  t.throws(() => new BearerTokens([12 as unknown as string]), { name: 'TypeError', message: /^access token 1 of 1/ })
  t.throws(() => new BearerTokens(['se cret']), { message: /^((?!se cret).)*$/ })
})
