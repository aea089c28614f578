import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { compile } from '@fastify/proxy-addr'
import { Type } from '@sinclair/typebox'
import { b64token } from '../../route/bearer-tokens.js'
import { limits } from '../../options.js'
import { misnamedVariables } from './misnamed-variables.js'
import { ConfigurationError, nameOf, readEnvironment, SECRETS } from './read-environment.js'
import { readTlsPair } from './tls.js'

export { ConfigurationError }

/** The version of this package. */
export const { version }: { version: string } = createRequire(import.meta.url)('../../../package.json')

const integer = (bounds: { default?: number, minimum: number, maximum: number }, meaning: string) =>
  Type.Integer({ ...bounds, description: `an integer from ${bounds.minimum} to ${bounds.maximum}: ${meaning}` })

const text = (options: { default?: string, pattern?: string }, description: string) =>
  Type.String({ minLength: 1, ...options, description })

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/**
 * The environment variables of the server. Each description completes "it must be" in an error message, and is the line
 * of the variable in the help.
 */
export const environment = Type.Object({
  HOST: text({ default: '127.0.0.1', pattern: '^(/.+|[^\\s/]+)$' }, 'an IP address or a host name, or the path of a Unix socket'),
  PORT: integer({ default: 3000, minimum: 0, maximum: 65535 }, 'the port to listen on, or 0 for a free one'),
  ACCESS_TOKENS: Type.Optional(text({ pattern: '[^\\s,]' }, 'the accepted bearer tokens, 16 characters or more, separated by commas or white space')),
  MONGODB_URL: Type.Optional(text({ pattern: '^mongodb(\\+srv)?://\\S+$' }, 'a MongoDB connection string, mongodb://… or mongodb+srv://…; unset, plants go to SQLite')),
  DATA_DIR: text({ default: './data' }, 'the folder of the SQLite database plants.db'),
  ACCESS_LOG: Type.Boolean({ default: false, description: 'true or false: one log line per request' }),
  LOG_LEVEL: Type.Union(levels.map(level => Type.Literal(level)), {
    default: 'info', description: `one of ${levels.join(', ')}`
  }),
  BODY_LIMIT: integer(limits.bodyLimit, 'bytes of a request body'),
  STORE_TIMEOUT: integer(limits.storeTimeout, 'milliseconds within which a create request gets its response'),
  QUEUE_LIMIT: integer(limits.queueLimit, 'maximum number of pending create requests; further ones get 503'),
  QUEUE_BYTES: integer(limits.queueBytes, 'maximum bytes of the bodies of pending create requests; a request that exceeds it gets 503'),
  KEEP_ALIVE_TIMEOUT: integer({ default: 72_000, minimum: 1, maximum: 3_600_000 }, 'milliseconds after which an idle connection is closed'),
  METRICS_PORT: Type.Optional(integer({ minimum: 0, maximum: 65535 }, 'the port of HOST for Prometheus metrics, path /metrics; unset, there are none')),
  TLS_CERT_FILE: Type.Optional(text({}, 'the file of a certificate with its chain; with TLS_KEY_FILE it turns on HTTPS')),
  TLS_KEY_FILE: Type.Optional(text({}, 'the file of its private key')),
  TRUST_PROXY: Type.Optional(text({}, 'addresses or CIDR ranges of proxies, or unix:, separated by commas; their X-Forwarded-For is believed')),
  REQUEST_ID_HEADER: Type.Optional(text({ pattern: '^[\\w!#$%&\'*+.^`|~-]{1,100}$' }, 'the name of a header, such as x-request-id, in which a trusted proxy sends the id of a request')),
  DOCS: Type.Optional(Type.Boolean({ description: 'true or false: an API page at /docs; unset, true except in production' }))
})

/** The values of NODE_ENV; an empty one is none. */
const modes = ['production', 'development', 'test', '']

/** Headers that cannot carry a request id: they frame a message, hold a secret or have another meaning. */
const reservedHeaders = /^(?:allow|connection|content-.*|date|expect|host|keep-alive|retry-after|(?:set-)?cookie|te|trailer|transfer-encoding|upgrade|www-authenticate|(?:proxy-)?auth.*)$/i

export function isSocketPath (host: string): boolean {
  return host.startsWith('/')
}

/** What to warn of: a sentence for each variable that is not read, but whose name is nearly that of one that is. */
export function warningsOf (env: NodeJS.ProcessEnv): string[] {
  const files = SECRETS.map(name => `${name}_FILE`)
  return misnamedVariables(env, [...Object.keys(environment.properties), ...files, 'NODE_ENV'])
}

/** Reads the configuration of the server from an environment; throws a ConfigurationError. */
export function readConfiguration (env: NodeJS.ProcessEnv) {
  const { NODE_ENV = '' } = env
  if (!modes.includes(NODE_ENV)) throw new ConfigurationError(`NODE_ENV is ${JSON.stringify(NODE_ENV)}: it must be production, development or test, or unset`)
  const isProduction = NODE_ENV === 'production'
  const values = readEnvironment(env, environment)
  const { HOST, PORT, METRICS_PORT, TRUST_PROXY, REQUEST_ID_HEADER, TLS_CERT_FILE, TLS_KEY_FILE } = values
  if (METRICS_PORT === PORT && PORT !== 0 && !isSocketPath(HOST)) {
    throw new ConfigurationError(`METRICS_PORT is ${METRICS_PORT}, the port of the service: it must be another port than PORT`)
  }
  if (TRUST_PROXY !== undefined) trustedProxies(TRUST_PROXY)
  if (reservedHeaders.test(REQUEST_ID_HEADER ?? '')) {
    throw new ConfigurationError(`REQUEST_ID_HEADER is ${REQUEST_ID_HEADER}, which has another meaning in HTTP: it must be the name of a header such as x-request-id`)
  }
  if (values.ACCESS_TOKENS === undefined && isProduction) {
    const fault = ['ACCESS_TOKENS is not set', ...warningsOf(env)].join('; ')
    throw new ConfigurationError(`${fault}: with NODE_ENV=production set it, or ACCESS_TOKENS_FILE, to access tokens of 16 characters or more`)
  }
  return {
    ...values,
    /** Undefined if none are set, which is allowed only outside production. */
    ACCESS_TOKENS: readTokens(values.ACCESS_TOKENS, nameOf('ACCESS_TOKENS', env)),
    /** How messages name the variable that MONGODB_URL comes from, which may name a file. */
    urlVariable: nameOf('MONGODB_URL', env),
    DOCS: values.DOCS ?? !isProduction,
    tls: readTlsPair(TLS_CERT_FILE, TLS_KEY_FILE)
  }
}

export type Configuration = ReturnType<typeof readConfiguration>

/** Where plants are stored: in MongoDB if there is a URL, otherwise in SQLite. */
export type StoreLocation = Pick<Configuration, 'DATA_DIR' | 'MONGODB_URL' | 'urlVariable'>

/** Reads which store is configured, for commands that need nothing else; throws likewise. */
export function readStoreLocation (env: NodeJS.ProcessEnv): StoreLocation {
  const values = readEnvironment(env, Type.Pick(environment, ['DATA_DIR', 'MONGODB_URL']))
  return { ...values, urlVariable: nameOf('MONGODB_URL', env) }
}

/** @param variable how messages name the variable */
function readTokens (text: string | undefined, variable: string): string[] | undefined {
  const tokens = text?.split(/[\s,]+/).filter(token => token !== '')
  for (const [index, token] of tokens?.entries() ?? []) {
    if (token.length >= 16 && b64token.test(token)) continue
    throw new ConfigurationError(`${variable}: token ${index + 1} cannot be used: it must be 16 characters or more of letters, digits and -._~+/ (RFC 6750, b64token)`)
  }
  return tokens
}

/**
 * Reads TRUST_PROXY as Fastify reads a list of `trustProxy`, and `unix:`, as nginx names it, for a proxy that connects
 * through a Unix socket and so has no address. Throws a ConfigurationError.
 */
export function trustedProxies (list: string): (address: string | undefined) => boolean {
  const peers = list.split(',').map(peer => peer.trim())
  const ranges = peers.filter(peer => peer !== 'unix:')
  try {
    // Without this, `1` would be the address 0.0.0.1.
    if (ranges.some(range => isIP(range.replace(/\/\d{1,3}$/, '')) === 0)) throw new TypeError('no address')
    const trusts = compile(ranges)
    return address => address === undefined ? peers.includes('unix:') : trusts(address, 0)
  } catch {
    throw new ConfigurationError(`TRUST_PROXY is ${JSON.stringify(list)}: it must be addresses or CIDR ranges of proxies, or unix:, separated by commas`)
  }
}
