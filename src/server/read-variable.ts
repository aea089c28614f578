import { readFileSync } from 'node:fs'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '../typebox.js'

/** A variable that cannot be used: the message names it, its fault and what is allowed, and holds no secret. */
export class ConfigurationError extends Error {}

/**
 * Reads one variable.
 * @param schema what it may be; its `description` completes "it must be"
 * @param secret whether it may also come from the file that `<name>_FILE` names; its value is in no message
 * @throws {ConfigurationError}
 */
export function readVariable (env: NodeJS.ProcessEnv, name: string, schema: TSchema, secret: boolean): unknown {
  const text = secret ? readSecret(name, env) : env[name]
  if (text === undefined) return schema.default
  const value = typed(text, schema)
  if (Value.Check(schema, value)) return value
  const fault = text === '' ? 'is empty' : secret ? 'cannot be used' : `is ${JSON.stringify(text)}`
  throw new ConfigurationError(`${name} ${fault}: it must be ${schema.description}${schema.default === undefined ? '' : `; unset, it is ${schema.default}`}`)
}

/** Exactly the decimal and the words that the table shows: no `0x10`, `1e3`, ` 80`, `yes`. */
function typed (text: string, schema: TSchema): unknown {
  if (schema.type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (schema.type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  return text
}

/** A secret is a variable or the content of a file that a variable names. */
function readSecret (name: string, env: NodeJS.ProcessEnv): string | undefined {
  const fileVariable = `${name}_FILE`
  const file = env[fileVariable]
  if (file === undefined) return env[name]
  if (env[name] !== undefined) throw new ConfigurationError(`${fileVariable} and ${name} are both set: set one of them`)
  return readFileOf(fileVariable, file).trim()
}

/**
 * Reads the file that a variable names.
 * @throws {ConfigurationError}
 */
export function readFileOf (variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigurationError(`${variable} is ${JSON.stringify(file)}, which cannot be read (${(error as NodeJS.ErrnoException).code}): it must be a readable file`)
  }
}
