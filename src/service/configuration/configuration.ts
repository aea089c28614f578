import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { compile } from '@fastify/proxy-addr'
import { Type } from '@sinclair/typebox'
import { b64token } from '../../route/bearer-tokens.js'
import { codeOf } from '../../error-message.js'
import { limits } from '../../options.js'
import { checkEnds, ConfigurationError, nameOf, readEnvironment, readFileOf, requireFiles } from './read-environment.js'

export { ConfigurationError, requireFiles }

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
  HOST: text({ default: '127.0.0.1', pattern: '^(/.+|[^\\s/]+)$' }, 'an IP address or a host name, or the path of a Unix socket, 103 bytes at most'),
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
  QUEUE_LIMIT: integer(limits.queueLimit, 'create requests pending at once, from the first byte of the body to the response'),
  QUEUE_BYTES: integer(limits.queueBytes, 'bytes of the bodies of pending create requests'),
  KEEP_ALIVE_TIMEOUT: integer({ default: 72_000, minimum: 1, maximum: 3_600_000 }, 'milliseconds after which an idle connection is closed'),
  METRICS_PORT: Type.Optional(integer({ minimum: 0, maximum: 65535 }, 'the port of HOST for Prometheus metrics, path /metrics; unset, there are none')),
  TLS_CERT_FILE: Type.Optional(text({}, 'the file of a certificate with its chain; with TLS_KEY_FILE it turns on HTTPS')),
  TLS_KEY_FILE: Type.Optional(text({}, 'the file of its private key')),
  TRUST_PROXY: Type.Optional(text({}, 'addresses or CIDR ranges of proxies, or unix:, separated by commas; their X-Forwarded-For is believed')),
  REQUEST_ID_HEADER: Type.Optional(text({ pattern: '^[\\w!#$%&\'*+.^`|~-]{1,100}$' }, 'the name of a header, such as x-request-id, in which a trusted proxy sends the id of a request')),
  DOCS: Type.Optional(Type.Boolean({ description: 'true or false: an API page at /docs; unset, true except in production' }))
})

/** Headers that cannot carry a request id: they frame a message, hold a secret or have another meaning. */
const reservedHeaders = /^(?:allow|connection|content-.*|date|expect|host|keep-alive|retry-after|(?:set-)?cookie|te|trailer|transfer-encoding|upgrade|www-authenticate|(?:proxy-)?auth.*)$/i

export function isSocketPath (host: string): boolean {
  return host.startsWith('/')
}

/** Reads the configuration of the server from an environment; throws a ConfigurationError. */
export function readConfiguration (env: NodeJS.ProcessEnv) {
  checkEnds('NODE_ENV', env.NODE_ENV ?? '', env, 'production, or another word')
  const isProduction = env.NODE_ENV === 'production'
  const values = readEnvironment(env, environment)
  const { HOST, TRUST_PROXY, REQUEST_ID_HEADER, TLS_CERT_FILE, TLS_KEY_FILE } = values
  // unix(7): `sun_path` has 108 bytes on Linux and 104 on macOS, with a NUL at its end. Node 20 would cut off the rest.
  if (isSocketPath(HOST) && Buffer.byteLength(HOST) > 103) {
    throw new ConfigurationError(`HOST is a path of ${Buffer.byteLength(HOST)} bytes: it must be ${environment.properties.HOST.description}`)
  }
  if (TRUST_PROXY !== undefined) trustedProxies(TRUST_PROXY)
  if (reservedHeaders.test(REQUEST_ID_HEADER ?? '')) {
    throw new ConfigurationError(`REQUEST_ID_HEADER is ${REQUEST_ID_HEADER}, which has another meaning in HTTP: it must be the name of a header such as x-request-id`)
  }
  if (values.ACCESS_TOKENS === undefined && isProduction) {
    throw new ConfigurationError('ACCESS_TOKENS is not set: with NODE_ENV=production set it, or ACCESS_TOKENS_FILE, to access tokens of 16 characters or more')
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
 * Reads the two files, if they are set, and checks that TLS can use them; throws a ConfigurationError.
 * @returns their contents, and when the certificate expires, in milliseconds since 1970
 */
export function readTlsPair (certFile: string | undefined, keyFile: string | undefined) {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined || keyFile === undefined) throw new ConfigurationError('TLS_CERT_FILE and TLS_KEY_FILE must both be set, or neither')
  const cert = readFileOf('TLS_CERT_FILE', certFile)
  const key = readFileOf('TLS_KEY_FILE', keyFile)
  // In lists, since an empty text would be taken for none.
  checkTls({ cert: [cert] }, 'TLS_CERT_FILE', 'PEM, the certificate first, then its complete chain')
  const allowed = 'the private key of TLS_CERT_FILE, PEM, without a passphrase'
  checkTls({ cert, key: [key] }, 'TLS_KEY_FILE', allowed)
  const certificate = new X509Certificate(cert)
  // OpenSSL compares only keys of one type: an RSA key beside an ECDSA certificate would fail with each handshake.
  if (!certificate.checkPrivateKey(createPrivateKey(key))) {
    throw new ConfigurationError(`TLS_KEY_FILE is not the key of the first certificate in TLS_CERT_FILE: it must be ${allowed}`)
  }
  return { cert, key, expiresAt: Date.parse(certificate.validTo) }
}

function checkTls (options: SecureContextOptions, variable: string, allowed: string): void {
  try {
    createSecureContext(options)
  } catch (error) {
    throw new ConfigurationError(`${variable} cannot be used for TLS (${codeOf(error)}): it must be ${allowed}`)
  }
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
    return address => address === undefined ? peers.includes('unix:') : trusts(withoutPort(address), 0)
  } catch {
    throw new ConfigurationError(`TRUST_PROXY is ${JSON.stringify(list)}: it must be addresses or CIDR ranges of proxies, or unix:, separated by commas`)
  }
}

/** An address of X-Forwarded-For without the port that Azure's gateway adds, as in `192.0.2.1:5678`. */
export function withoutPort (address: string): string {
  return address.replace(/^(?:\[([\da-f:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/i, '$1$2')
}
