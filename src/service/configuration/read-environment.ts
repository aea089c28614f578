import { readFileSync, statSync } from 'node:fs'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { codeOf } from '../../error-message.js'

/** An invalid variable. The message names it, its fault and what is allowed, and never contains a secret. */
export class ConfigurationError extends Error {}

/** May also come from the file that `<name>_FILE` names; no message contains them. */
const SECRETS = ['ACCESS_TOKENS', 'MONGODB_URL']

/**
 * Reads variables; throws a ConfigurationError.
 * @param schema the allowed values of each; its `description` completes "it must be"
 */
export function readEnvironment<Schema extends TObject> (env: NodeJS.ProcessEnv, schema: Schema): Static<Schema> {
  const values: Record<string, unknown> = {}
  // As at the start of an environment file with a byte order mark: the variable would be ignored.
  const known = [...Object.keys(schema.properties), ...SECRETS.map(name => `${name}_FILE`), 'NODE_ENV']
  const misnamed = Object.keys(env).find(name => name !== name.trim() && known.includes(name.trim()))
  if (misnamed !== undefined) {
    throw new ConfigurationError(`${misnamed.trim()} has a byte order mark or white space before or after its name: save the environment file without it`)
  }
  for (const [name, variable] of Object.entries(schema.properties)) {
    const { description = '', default: defaultValue } = variable
    const text = SECRETS.includes(name) ? readSecret(name, env) : env[name]
    if (text === undefined) {
      values[name] = defaultValue
      continue
    }
    const allowed = defaultValue === undefined ? description : `${description}; unset, it is ${defaultValue}`
    checkEnds(name, text, env, allowed)
    values[name] = typed(text, variable)
    if (Value.Check(variable, values[name])) continue
    refuse(name, text, env, text === '' ? 'is empty' : 'cannot be used', allowed)
  }
  return values
}

/** Refuses what a shell would have removed or replaced: in an environment file it can be a part of the value. */
export function checkEnds (name: string, text: string, env: NodeJS.ProcessEnv, allowed: string): void {
  if (/^["']|["']$/.test(text)) refuse(name, text, env, 'has a quotation mark at an end', allowed)
  // White space may surround tokens, which it separates.
  if (name !== 'ACCESS_TOKENS' && /^[\s\p{Cc}\p{Cf}]|[\s\p{Cc}\p{Cf}]$/u.test(text)) {
    refuse(name, text, env, 'has white space or a control character at an end', allowed)
  }
  // Such as the carriage returns of a file that has no other line ends.
  if (name !== 'ACCESS_TOKENS' && /\p{Cc}/u.test(text)) refuse(name, text, env, 'has a control character', allowed)
  if (name === 'DATA_DIR' && /^[~$]/.test(text)) refuse(name, text, env, 'begins with what only a shell replaces', allowed)
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

export function readFileOf (variable: string, file: string): string {
  try {
    // As bigints: after numbers of a pipe, Node resolves no symbolic links of the modules that it loads next.
    return statSync(file, { bigint: true }).isFile() ? readFileSync(file, 'utf8') : readPipe(file)
  } catch (error) {
    throw new ConfigurationError(`${variable} is ${JSON.stringify(file)}, which cannot be read (${codeOf(error)}): it must be a readable file`)
  }
}

/** Waits for the writer of a pipe, as of a shell's `<(…)`. Meanwhile no handler can run, so signals end the process. */
function readPipe (file: string): string {
  const handlers = (['SIGTERM', 'SIGINT'] as const).map(signal => ({ signal, listeners: process.rawListeners(signal) }))
  for (const { signal } of handlers) process.removeAllListeners(signal)
  try {
    return readFileSync(file, 'utf8')
  } finally {
    for (const { signal, listeners } of handlers) {
      for (const listener of listeners) process.on(signal, listener as NodeJS.SignalsListener)
    }
  }
}

/** Checks that reading these files again, while the service runs, does not wait for a writer. */
export function requireFiles (env: NodeJS.ProcessEnv, names: readonly string[]): void {
  for (const name of names) {
    const file = env[name] === undefined ? undefined : statSync(env[name], { bigint: true, throwIfNoEntry: false })
    if (file?.isFile() === false) throw new ConfigurationError(`${name} is not a file, and is read only at the start`)
  }
}
