import bearerAuth, { type verifyBearerAuthFactory } from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { ApiError } from '../api-error.js'
import type { BearerTokens } from './bearer-tokens.js'

/** The accepted tokens, or a function that decides on each well-formed one (`b64token` of RFC 6750, section 2.1). */
export type Tokens = TokenList | ((token: string, request: FastifyRequest) => boolean | Promise<boolean>)

/** A string is no list, although it is an iterable of its characters. */
type TokenList = Iterable<string> & object

const credentials = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/** Makes the `onRequest` hook, which refuses a request without an accepted bearer token before its body is read. */
export async function bearerAuthentication (
  app: FastifyInstance, tokens: BearerTokens | Extract<Tokens, Function>
): Promise<onRequestHookHandler> {
  const decide = typeof tokens === 'function' ? tokens : (token: string) => tokens.accepts(token)
  // A host's registration is used: a second one in the same scope would throw.
  if (!app.hasDecorator('verifyBearerAuthFactory')) await app.register(bearerAuth, { addHook: false, keys: [] })
  const verify = app.getDecorator<verifyBearerAuthFactory>('verifyBearerAuthFactory')({
    addHook: false,
    keys: [],
    // The library trims characters from a token that RFC 9110 does not.
    auth: (_trimmed, request) => {
      const [, token] = credentials.exec(request.headers.authorization ?? '') ?? []
      return token !== undefined && decide(token, request)
    },
    // RFC 9110, section 11.1: the scheme is case-insensitive. In RFC 6750's mode it is compared exactly.
    specCompliance: 'rfc6749',
    // Nothing is logged: a refusal is not an error.
    verifyErrorLogLevel: ''
  })

  return function authenticate (request, reply, done) {
    const { authorization = '' } = request.headers
    // @fastify/bearer-auth always awaits a promise: 7 % of the processor time of a create request (32.7 µs, not 30.2).
    const mayBeListed = typeof tokens !== 'function' && authorization.startsWith('Bearer ')
    if (mayBeListed && tokens.accepts(authorization.slice(7))) return done()
    verify(request, reply, (error?: Error & { code?: unknown }) => {
      if (error === undefined) return done()
      const isRefused = String(error.code).startsWith('FST_BEARER_AUTH_')
      if (isRefused) return done(new ApiError(credentials.test(authorization) ? 'tokenUnknown' : 'credentialsMissing'))
      done(new ApiError('internal', 'The access token could not be checked; this request did not store the plant', error))
    })
  }
}
