import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifySchemaValidationError } from 'fastify'
import { ApiError } from './errors.js'
import { refusal, validPlant, type PlantRequest } from './plant-request.js'
import { NewPlantSchema, type NewPlantWire } from './schemas.js'

const validate = TypeBoxValidatorCompiler({ schema: NewPlantSchema, method: 'POST', url: '/plants', httpPart: 'body' })

/** The rule for each field of a NewPlant, as error messages state it. */
const fieldRules: Readonly<Record<string, string>> = {
  id: 'id must be an integer from -9223372036854775808 to 9223372036854775807 (int64)',
  name: 'name must be a string of well-formed Unicode',
  tag: 'tag must be a string of well-formed Unicode, or be left out'
}

/**
 * Validates a parsed body by the `NewPlantSchema`.
 * @returns `{ value }`, or `{ error }` with an `ApiError` that names the field and its rule
 */
export function validatePlant (body: unknown): { value: NewPlantWire } | { error: ApiError } {
  const { value, error } = validate(body) as { value: NewPlantWire, error?: FastifySchemaValidationError[] }
  return error === undefined ? { value } : { error: invalidPlant(error[0]?.instancePath ?? '', body) }
}

function invalidPlant (path: string, body: unknown): ApiError {
  const field = path.slice(1)
  const rule = fieldRules[field]
  if (rule === undefined) return new ApiError('plantInvalid')
  const missing = !Object.hasOwn(Object(body), field)
  return new ApiError('plantInvalid', missing ? `${field} is missing: ${rule}` : rule)
}

/**
 * The last preValidation hook: refuses a body that is not a plant, and hands a copy of the plant on to the handler.
 *
 * It takes the place of Fastify's own validation, which a hook of the host could turn off, and after which the host's
 * preHandler hooks could change `request.body`.
 */
export function validateBody (request: PlantRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  if (request[refusal] !== undefined) return done(request[refusal])
  if (request.body === undefined) return done(new ApiError('bodyMissing'))
  const result = validatePlant(request.body)
  if ('error' in result) return done(result.error)
  const { id, name, tag } = result.value
  request[validPlant] = tag === undefined ? { id, name } : { id, name, tag }
  done()
}
