import type { FastifyReply } from 'fastify'
import { refusal, type ParsedRequest } from '../body/json-body.js'
import { ApiError } from '../error-codes.js'
import { NewPlantSchema, type NewPlantWire } from './create-plant-schema.js'
import { TypeCompiler } from './typebox.js'

const compiled = TypeCompiler.Compile(NewPlantSchema)

/** The rule for each field of a NewPlant, as error messages state it. */
const fieldRules: Readonly<Record<string, string>> = {
  id: 'id must be an integer from -9223372036854775808 to 9223372036854775807 (int64)',
  name: 'name must be a string of well-formed Unicode',
  tag: 'tag must be a string of well-formed Unicode, or be left out'
}

/**
 * Validates a parsed body by the compiled `NewPlantSchema`; a Fastify validator.
 * @returns `{ value }`, or `{ error }` with an `ApiError` that names the field and its rule
 */
export function validatePlant (body: unknown): { value: NewPlantWire } | { error: ApiError } {
  return compiled.Check(body) ? { value: body } : { error: invalidPlant(compiled.Errors(body).First()?.path ?? '', body) }
}

function invalidPlant (path: string, body: unknown): ApiError {
  const field = path.slice(1)
  const rule = fieldRules[field]
  if (rule === undefined) return new ApiError('plantInvalid')
  const missing = !Object.hasOwn(Object(body), field)
  return new ApiError('plantInvalid', missing ? `${field} is missing: ${rule}` : rule)
}

const plant = Symbol('plant-store.plant')
type ValidatedRequest = ParsedRequest & { [plant]?: NewPlantWire }

/**
 * The last hook before validation. It keeps a copy of the body that is validated, since a later hook may change
 * `request.body`, and reports the refusal of a body that could not be parsed.
 */
export function keepPlant (request: ValidatedRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  if (request[refusal] !== undefined) return done(request[refusal])
  if (request.body === undefined) return done(new ApiError('bodyMissing'))
  // Also of null or a number, which the validator refuses.
  const { id, name, tag }: NewPlantWire = Object(request.body)
  request[plant] = tag === undefined ? { id, name } : { id, name, tag }
  done()
}

/** The plant of a validated request. */
export function plantOf (request: ValidatedRequest): NewPlantWire {
  return request[plant] as NewPlantWire
}
