import { readFileSync } from 'node:fs'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { b64token } from '../bearer-tokens.js'
import { limits } from '../plant-store-options.js'

const integer = (bounds: { default?: number, minimum: number, maximum: number }, meaning: string) =>
  Type.Integer({ ...bounds, description: `${meaning}, an integer from ${bounds.minimum} to ${bounds.maximum}` })

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The environment that the server reads; what each variable may be is told by its schema alone. */
export const EnvironmentSchema = Type.Object({
  HOST: Type.String({ default: '127.0.0.1', pattern: '^[^\\s/]+$', description: 'an IP address or a host name' }),
  PORT: integer({ default: 3000, minimum: 0, maximum: 65535 }, 'a port'),
  ACCESS_TOKENS: Type.Optional(Type.String({ pattern: '\\S', description: 'access tokens, separated by commas or white space' })),
  MONGODB_URL: Type.Optional(Type.String({ pattern: '^mongodb(\\+srv)?://\\S+$', description: 'a MongoDB connection string, mongodb://… or mongodb+srv://…' })),
  DATA_DIR: Type.String({ default: './data', minLength: 1, description: 'a folder' }),
  ACCESS_LOG: Type.Boolean({ default: false, description: 'true or false' }),
  LOG_LEVEL: Type.Union(levels.map(level => Type.Literal(level)), { default: 'info', description: levels.join(', ') }),
  BODY_LIMIT: integer(limits.bodyLimit, 'bytes'),
  STORE_TIMEOUT: integer(limits.storeTimeout, 'milliseconds'),
  QUEUE_LIMIT: integer(limits.queueLimit, 'a number of creates')
})

type Environment = Static<typeof EnvironmentSchema>
type Variable = keyof Environment

/** What the server runs with. */
export interface Configuration extends Omit<Environment, 'ACCESS_TOKENS'> {
  /** Undefined where none are set, which only a service that is not in production accepts. */
  ACCESS_TOKENS: readonly string[] | undefined
}

/** A variable that cannot be used: the message names it, its fault and what is allowed, and holds no secret. */
export class ConfigurationError extends Error {}

const SECRETS: readonly Variable[] = ['ACCESS_TOKENS', 'MONGODB_URL']
const SHORTEST_TOKEN = 16

/**
 * Reads the configuration.
 * @param env as `process.env`
 * @throws {ConfigurationError}
 */
export function readConfiguration (env: NodeJS.ProcessEnv): Configuration {
  const values = Object.fromEntries(Object.entries(EnvironmentSchema.properties)
    .map(([name, schema]) => [name, readVariable(name as Variable, schema, env)])) as Environment
  const tokens = values.ACCESS_TOKENS === undefined ? undefined : readTokens(values.ACCESS_TOKENS)
  if (tokens === undefined && env.NODE_ENV === 'production') {
    throw new ConfigurationError('ACCESS_TOKENS is not set: with NODE_ENV=production set it, or ACCESS_TOKENS_FILE, to access tokens of 16 characters or more')
  }
  return { ...values, ACCESS_TOKENS: tokens }
}

function readVariable (name: Variable, schema: TSchema, env: NodeJS.ProcessEnv): unknown {
  const text = SECRETS.includes(name) ? readSecret(name, env) : env[name]
  if (text === undefined) return schema.default
  const value = typed(text, schema)
  if (Value.Check(schema, value)) return value
  const fault = text === '' ? 'is empty' : SECRETS.includes(name) ? 'cannot be used' : `is ${JSON.stringify(text)}`
  throw new ConfigurationError(`${name} ${fault}: it must be ${schema.description}${schema.default === undefined ? '' : `; unset, it is ${schema.default}`}`)
}

/** Exactly the decimal and the words that the table shows: no `0x10`, `1e3`, ` 80`, `yes`. */
function typed (text: string, schema: TSchema): unknown {
  if (schema.type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (schema.type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  return text
}

/** A secret is a variable or the content of a file that a variable names. */
function readSecret (name: Variable, env: NodeJS.ProcessEnv): string | undefined {
  const fileVariable = `${name}_FILE`
  const file = env[fileVariable]
  if (file === undefined) return env[name]
  if (env[name] !== undefined) throw new ConfigurationError(`${fileVariable} and ${name} are both set: set one of them`)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new ConfigurationError(`${fileVariable} is ${JSON.stringify(file)}, which cannot be read (${(error as NodeJS.ErrnoException).code}): it must be a readable file`)
  }
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
