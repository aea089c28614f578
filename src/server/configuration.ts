import type { Static, TSchema } from '@sinclair/typebox'
import { b64token } from '../bearer-tokens.js'
import { limits } from '../plant-store-options.js'
import { Type } from '../typebox.js'
import { ConfigurationError, readVariable } from './read-variable.js'
import { readTlsPair, type TlsPair } from './tls-pair.js'

export { ConfigurationError }

const integer = (bounds: { default?: number, minimum: number, maximum: number }, meaning: string) =>
  Type.Integer({ ...bounds, description: `${meaning}, an integer from ${bounds.minimum} to ${bounds.maximum}` })

const flag = (options: { default?: boolean } = {}) => Type.Boolean({ ...options, description: 'true or false' })

const file = () => Type.String({ minLength: 1, description: 'a readable file' })

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The environment that the server reads; what each variable may be is told by its schema alone. */
export const EnvironmentSchema = Type.Object({
  HOST: Type.String({ default: '127.0.0.1', pattern: '^[^\\s/]+$', description: 'an IP address or a host name' }),
  PORT: integer({ default: 3000, minimum: 0, maximum: 65535 }, 'a port'),
  ACCESS_TOKENS: Type.Optional(Type.String({ pattern: '\\S', description: 'access tokens, separated by commas or white space' })),
  MONGODB_URL: Type.Optional(Type.String({ pattern: '^mongodb(\\+srv)?://\\S+$', description: 'a MongoDB connection string, mongodb://… or mongodb+srv://…' })),
  DATA_DIR: Type.String({ default: './data', minLength: 1, description: 'a folder' }),
  ACCESS_LOG: flag({ default: false }),
  LOG_LEVEL: Type.Union(levels.map(level => Type.Literal(level)), { default: 'info', description: levels.join(', ') }),
  BODY_LIMIT: integer(limits.bodyLimit, 'bytes'),
  STORE_TIMEOUT: integer(limits.storeTimeout, 'milliseconds'),
  QUEUE_LIMIT: integer(limits.queueLimit, 'a number of creates'),
  WORKERS: integer({ default: 1, minimum: 1, maximum: 256 }, 'a number of processes'),
  METRICS_PORT: Type.Optional(integer({ minimum: 0, maximum: 65535 }, 'a port')),
  TLS_CERT_FILE: Type.Optional(file()),
  TLS_KEY_FILE: Type.Optional(file()),
  DOCS: Type.Optional(flag())
})

type Environment = Static<typeof EnvironmentSchema>
type Variable = keyof Environment

/** What the server runs with. */
export interface Configuration extends Omit<Environment, 'ACCESS_TOKENS'> {
  /** Undefined where none are set, which only a service that is not in production accepts. */
  ACCESS_TOKENS: readonly string[] | undefined
  DOCS: boolean
  /** What TLS_CERT_FILE and TLS_KEY_FILE hold. */
  tls: TlsPair | undefined
}

/** What SIGHUP reads again: who is let in, and who the service is. */
export type Credentials = Pick<Configuration, 'ACCESS_TOKENS' | 'tls'>

const SECRETS: readonly Variable[] = ['ACCESS_TOKENS', 'MONGODB_URL']
const SHORTEST_TOKEN = 16

/**
 * Reads the configuration of the server.
 * @param env as `process.env`
 * @throws {ConfigurationError}
 */
export function readConfiguration (env: NodeJS.ProcessEnv): Configuration {
  const values = read(env, Object.keys(EnvironmentSchema.properties) as Variable[])
  const { PORT, METRICS_PORT } = values
  if (METRICS_PORT !== undefined && METRICS_PORT === PORT && PORT !== 0) {
    throw new ConfigurationError(`METRICS_PORT is ${METRICS_PORT}, which PORT is too: it must be another port`)
  }
  return { ...values, ...readCredentials(env), DOCS: values.DOCS ?? env.NODE_ENV !== 'production' }
}

/**
 * Reads what may change while the server runs, with the files that the variables name.
 * @throws {ConfigurationError}
 */
export function readCredentials (env: NodeJS.ProcessEnv): Credentials {
  const { ACCESS_TOKENS, TLS_CERT_FILE, TLS_KEY_FILE } = read(env, ['ACCESS_TOKENS', 'TLS_CERT_FILE', 'TLS_KEY_FILE'])
  const tokens = ACCESS_TOKENS === undefined ? undefined : readTokens(ACCESS_TOKENS)
  if (tokens === undefined && env.NODE_ENV === 'production') {
    throw new ConfigurationError('ACCESS_TOKENS is not set: with NODE_ENV=production set it, or ACCESS_TOKENS_FILE, to access tokens of 16 characters or more')
  }
  return { ACCESS_TOKENS: tokens, tls: readTlsPair(TLS_CERT_FILE, TLS_KEY_FILE) }
}

/**
 * Reads what `plant-store migrate` needs.
 * @throws {ConfigurationError}
 */
export function readMigration (env: NodeJS.ProcessEnv): { DATA_DIR: string, MONGODB_URL: string } {
  const { DATA_DIR, MONGODB_URL } = read(env, ['DATA_DIR', 'MONGODB_URL'])
  if (MONGODB_URL === undefined) {
    throw new ConfigurationError(`MONGODB_URL is not set: set it, or MONGODB_URL_FILE, to ${EnvironmentSchema.properties.MONGODB_URL.description}`)
  }
  return { DATA_DIR, MONGODB_URL }
}

function read<Name extends Variable> (env: NodeJS.ProcessEnv, names: readonly Name[]): Pick<Environment, Name> {
  return Object.fromEntries(names.map(name => {
    const schema: TSchema = EnvironmentSchema.properties[name]
    return [name, readVariable(env, name, schema, SECRETS.includes(name))]
  })) as Pick<Environment, Name>
}

function readTokens (text: string): string[] {
  const tokens = text.split(/[\s,]+/).filter(token => token !== '')
  if (tokens.length === 0) throw new ConfigurationError('ACCESS_TOKENS holds no token: it must be access tokens, separated by commas or white space')
  tokens.forEach((token, index) => {
    const fault = token.length < SHORTEST_TOKEN ? 'is too short' : b64token.test(token) ? undefined : 'has a character that no token may have'
    if (fault !== undefined) {
      throw new ConfigurationError(`ACCESS_TOKENS: token ${index + 1} of ${tokens.length} ${fault}: each must be ${SHORTEST_TOKEN} characters or more of letters, digits and -._~+/ (RFC 6750, b64token)`)
    }
  })
  return tokens
}
