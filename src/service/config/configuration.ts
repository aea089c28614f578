import { Type, type Static } from '@sinclair/typebox'
import { b64token } from '../../http/bearer-tokens.js'
import { limits } from '../../options.js'
import { isSocketPath } from '../http/unix-socket.js'
import { ConfigurationError, readEnvironment } from './read-environment.js'
import { readTlsPair, type TlsPair } from './tls-pair.js'
import { trustedProxies } from './trusted-proxies.js'

export { ConfigurationError }

const integer = (bounds: { default?: number, minimum: number, maximum: number }, meaning: string) =>
  Type.Integer({ ...bounds, description: `${meaning}, an integer from ${bounds.minimum} to ${bounds.maximum}` })

const flag = (options: { default?: boolean } = {}) => Type.Boolean({ ...options, description: 'true or false' })

const file = () => Type.String({ minLength: 1, description: 'a readable file' })

/** Headers that cannot carry a request id: they frame a message, hold a secret or have another meaning. */
const reservedHeaders = /^(?:allow|connection|content-.*|date|expect|host|keep-alive|retry-after|(?:set-)?cookie|te|trailer|transfer-encoding|upgrade|www-authenticate|(?:proxy-)?auth.*)$/i

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The environment variables of the server, each with the schema of its allowed values. */
const EnvironmentSchema = Type.Object({
  HOST: Type.String({ default: '127.0.0.1', pattern: '^(/.+|[^\\s/]+)$', description: 'an IP address, a host name or the path of a Unix socket' }),
  PORT: integer({ default: 3000, minimum: 0, maximum: 65535 }, 'a port'),
  ACCESS_TOKENS: Type.Optional(Type.String({ pattern: '\\S', description: 'access tokens, separated by commas or white space' })),
  MONGODB_URL: Type.Optional(Type.String({ pattern: '^mongodb(\\+srv)?://\\S+$', description: 'a MongoDB connection string, mongodb://… or mongodb+srv://…' })),
  DATA_DIR: Type.String({ default: './data', minLength: 1, description: 'a folder' }),
  ACCESS_LOG: flag({ default: false }),
  LOG_LEVEL: Type.Union(levels.map(level => Type.Literal(level)), { default: 'info', description: `one of ${levels.join(', ')}` }),
  BODY_LIMIT: integer(limits.bodyLimit, 'a number of bytes'),
  STORE_TIMEOUT: integer(limits.storeTimeout, 'a number of milliseconds'),
  QUEUE_LIMIT: integer(limits.queueLimit, 'a number of create requests'),
  QUEUE_BYTES: integer(limits.queueBytes, 'a number of bytes'),
  METRICS_PORT: Type.Optional(integer({ minimum: 0, maximum: 65535 }, 'a port')),
  TLS_CERT_FILE: Type.Optional(file()),
  TLS_KEY_FILE: Type.Optional(file()),
  TRUST_PROXY: Type.Optional(Type.String({ minLength: 1, description: 'addresses or CIDR ranges of proxies, or unix:, separated by commas' })),
  REQUEST_ID_HEADER: Type.Optional(Type.String({ pattern: '^[\\w!#$%&\'*+.^`|~-]{1,100}$', description: 'the name of a header, such as x-request-id' })),
  DOCS: Type.Optional(flag())
})

const CredentialsSchema = Type.Pick(EnvironmentSchema, ['ACCESS_TOKENS', 'TLS_CERT_FILE', 'TLS_KEY_FILE'])
const StorePlaceSchema = Type.Pick(EnvironmentSchema, ['DATA_DIR', 'MONGODB_URL'])

export interface Configuration extends Omit<Static<typeof EnvironmentSchema>, 'ACCESS_TOKENS'> {
  /** Undefined if none are set, which is allowed only outside production. */
  ACCESS_TOKENS: readonly string[] | undefined
  DOCS: boolean
  /** The contents of TLS_CERT_FILE and TLS_KEY_FILE. */
  tls: TlsPair | undefined
}

/** What SIGHUP reads again: accepted tokens, and the certificate. */
export type Credentials = Pick<Configuration, 'ACCESS_TOKENS' | 'tls'>

const SHORTEST_TOKEN = 16
/** unix(7): `sun_path` has 108 bytes on Linux and 104 on macOS, including the terminating NUL. */
const SOCKET_PATH_BYTES = 103

/** Reads the configuration of the server from an environment; throws a ConfigurationError. */
export function readConfiguration (env: NodeJS.ProcessEnv): Configuration {
  const values = readEnvironment(env, EnvironmentSchema)
  const { HOST, PORT, METRICS_PORT, TRUST_PROXY, REQUEST_ID_HEADER } = values
  if (isSocketPath(HOST)) {
    if (Buffer.byteLength(HOST) > SOCKET_PATH_BYTES) throw new ConfigurationError(`HOST is a path of ${Buffer.byteLength(HOST)} bytes: the path of a Unix socket must have ${SOCKET_PATH_BYTES} bytes or fewer`)
  } else if (METRICS_PORT !== undefined && METRICS_PORT === PORT && PORT !== 0) {
    throw new ConfigurationError(`METRICS_PORT and PORT are both ${PORT}: METRICS_PORT must be a different port`)
  }
  if (TRUST_PROXY !== undefined) trustedProxies(TRUST_PROXY)
  if (REQUEST_ID_HEADER !== undefined && reservedHeaders.test(REQUEST_ID_HEADER)) {
    throw new ConfigurationError(`REQUEST_ID_HEADER is ${REQUEST_ID_HEADER}, which has another meaning in HTTP: it must be the name of a header such as x-request-id`)
  }
  return { ...values, ...credentialsOf(values, env), DOCS: values.DOCS ?? env.NODE_ENV !== 'production' }
}

/** Reads what may change while the server runs, with the files that the variables name; throws likewise. */
export function readCredentials (env: NodeJS.ProcessEnv): Credentials {
  return credentialsOf(readEnvironment(env, CredentialsSchema), env)
}

/** Does not read secrets again: their file may be a pipe. */
function credentialsOf (
  { ACCESS_TOKENS, TLS_CERT_FILE, TLS_KEY_FILE }: Static<typeof CredentialsSchema>, { NODE_ENV }: NodeJS.ProcessEnv
): Credentials {
  const tokens = ACCESS_TOKENS === undefined ? undefined : readTokens(ACCESS_TOKENS)
  if (tokens === undefined && NODE_ENV === 'production') {
    throw new ConfigurationError('ACCESS_TOKENS is not set: with NODE_ENV=production set it, or ACCESS_TOKENS_FILE, to access tokens of 16 characters or more')
  }
  return { ACCESS_TOKENS: tokens, tls: readTlsPair(TLS_CERT_FILE, TLS_KEY_FILE) }
}

/** Where plants are stored: in MongoDB if there is a URL, otherwise in SQLite. */
export type StorePlace = Static<typeof StorePlaceSchema>

/** Reads which store is configured, for commands that need nothing else; throws likewise. */
export function readStorePlace (env: NodeJS.ProcessEnv): StorePlace {
  return readEnvironment(env, StorePlaceSchema)
}

function readTokens (text: string): string[] {
  const tokens = text.split(/[\s,]+/).filter(token => token !== '')
  if (tokens.length === 0) throw new ConfigurationError('ACCESS_TOKENS holds no token: it must hold access tokens, separated by commas or white space')
  tokens.forEach((token, index) => {
    const fault = token.length < SHORTEST_TOKEN ? 'is too short' : b64token.test(token) ? undefined : 'has a character that no token may have'
    if (fault !== undefined) {
      throw new ConfigurationError(`ACCESS_TOKENS: token ${index + 1} of ${tokens.length} ${fault}: each must be ${SHORTEST_TOKEN} characters or more of letters, digits and -._~+/ (RFC 6750, b64token)`)
    }
  })
  return tokens
}
