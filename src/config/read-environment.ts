import { readFileSync } from 'node:fs'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { codeOf } from '../error-message.js'

/** An invalid variable. The message names it, its fault and what is allowed, and never contains a secret. */
export class ConfigurationError extends Error {}

/** May also come from the file that `<name>_FILE` names; no message contains them. */
const SECRETS = ['ACCESS_TOKENS', 'MONGODB_URL']

/**
 * Reads variables; throws a ConfigurationError.
 * @param schema the allowed values of each; its `description` completes "it must be"
 */
export function readEnvironment<Schema extends TObject> (env: NodeJS.ProcessEnv, schema: Schema): Static<Schema> {
  const values: unknown = Object.fromEntries(Object.entries(schema.properties).map(([name, variable]) => {
    const text = SECRETS.includes(name) ? readSecret(name, env) : env[name]
    return [name, text === undefined ? variable.default : typed(text, variable)]
  }))
  if (Value.Check(schema, values)) return values
  const { path = '', value, schema: variable = schema } = Value.Errors(schema, values).First() ?? {}
  const name = path.slice(1)
  const fault = value === '' ? 'is empty' : SECRETS.includes(name) ? 'cannot be used' : `is ${JSON.stringify(env[name])}`
  const defaultValue = variable.default === undefined ? '' : `; unset, it is ${variable.default}`
  throw new ConfigurationError(`${name} ${fault}: it must be ${variable.description}${defaultValue}`)
}

/** Accepts only the decimal digits and words of the table: no `0x10`, `1e3`, ` 80`, `yes`. */
function typed (text: string, schema: TSchema): unknown {
  if (schema.type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (schema.type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  return text
}

function readSecret (name: string, env: NodeJS.ProcessEnv): string | undefined {
  const fileVariable = `${name}_FILE`
  const file = env[fileVariable]
  if (file === undefined) return env[name]
  if (env[name] !== undefined) throw new ConfigurationError(`${fileVariable} and ${name} are both set: set one of them`)
  return readFileOf(fileVariable, file).trim()
}

export function readFileOf (variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigurationError(`${variable} is ${JSON.stringify(file)}, which cannot be read (${codeOf(error)}): it must be a readable file`)
  }
}
