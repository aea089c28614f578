import { readFileSync, statSync } from 'node:fs'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { codeOf } from '../../error-message.js'

/** An invalid variable. The message names it, its fault and what is allowed, and never contains a secret. */
export class ConfigurationError extends Error {}

/** May also come from the file that `<name>_FILE` names; no message contains them. */
export const SECRETS: readonly string[] = ['ACCESS_TOKENS', 'MONGODB_URL']

/**
 * Reads variables; throws a ConfigurationError.
 * @param schema the allowed values of each; its `description` completes "it must be"
 */
export function readEnvironment<Schema extends TObject> (env: NodeJS.ProcessEnv, schema: Schema): Static<Schema> {
  const values: Record<string, unknown> = {}
  for (const [name, variable] of Object.entries(schema.properties)) {
    const { description = '', default: defaultValue } = variable
    const text = SECRETS.includes(name) ? readSecret(name, env) : env[name]
    if (text === undefined) {
      values[name] = defaultValue
      continue
    }
    const allowed = defaultValue === undefined ? description : `${description}; unset, it is ${defaultValue}`
    const fault = faultOf(name, text)
    if (fault !== undefined) refuse(name, text, env, fault, allowed)
    values[name] = typed(text, variable)
    if (TypeCompiler.Compile(variable).Check(values[name])) continue
    refuse(name, text, env, text === '' ? 'is empty' : 'cannot be used', allowed)
  }
  return values
}

/** Finds what a shell would have removed or replaced: in an environment file it can be a part of the value. */
function faultOf (name: string, text: string): string | undefined {
  if (/^["']|["']$/.test(text)) return 'has a quotation mark at an end'
  // White space may surround tokens, which it separates.
  if (name !== 'ACCESS_TOKENS' && text !== text.trim()) return 'has white space at an end'
  if (name === 'DATA_DIR' && /^[~$]/.test(text)) return 'begins with what only a shell replaces'
  return undefined
}

function refuse (name: string, text: string, env: NodeJS.ProcessEnv, fault: string, allowed: string): never {
  const value = SECRETS.includes(name) ? '' : ` is ${JSON.stringify(text)}, which`
  throw new ConfigurationError(`${nameOf(name, env)}${value} ${fault}: it must be ${allowed}`)
}

/** How messages name a variable: a secret that comes from a file, by that file. */
export function nameOf (name: string, env: NodeJS.ProcessEnv): string {
  const fileVariable = `${name}_FILE`
  const file = env[fileVariable]
  return SECRETS.includes(name) && file !== undefined ? `${fileVariable} (${JSON.stringify(file)})` : name
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

/** @returns the content of the file that a variable names */
export function readFileOf (variable: string, file: string): string {
  try {
    // Reading a pipe would hold up the process until somebody writes to it.
    if (!statSync(file).isFile()) throw new ConfigurationError(`${variable} is ${JSON.stringify(file)}, which is no regular file: it must be a readable file`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof ConfigurationError) throw error
    throw new ConfigurationError(`${variable} is ${JSON.stringify(file)}, which cannot be read (${codeOf(error)}): it must be a readable file`)
  }
}
