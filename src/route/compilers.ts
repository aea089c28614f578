import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import type { TObject } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifySchemaValidationError } from 'fastify'
import type { FastifyRouteSchemaDef } from 'fastify/types/schema.js'
import type { NewPlant } from '../stores/plant-store.js'
import { ApiError } from './errors.js'

/** The rule for each field of a NewPlant, as error messages state it. */
const fieldRules: Readonly<Record<string, string>> = {
  id: 'id must be an integer from -9223372036854775808 to 9223372036854775807 (int64): a JSON number, not a string',
  name: 'name must be a string of well-formed Unicode',
  tag: 'tag must be a string of well-formed Unicode, or be left out'
}

/**
 * The scope's validator compiler: the type provider's. A validator returns the plant without the fields that the schema
 * does not name, or an ApiError that names the field and its rule.
 */
export function validatorCompiler (route: FastifyRouteSchemaDef<TObject>) {
  const validate = TypeBoxValidatorCompiler(route)
  return (body: unknown): { value: NewPlant } | { error: ApiError } => {
    // Fastify validates null if there is no body.
    if (body === null) return { error: new ApiError('bodyMissing') }
    const { value, error } = validate(body) as { value: NewPlant, error?: FastifySchemaValidationError[] }
    if (error !== undefined) return { error: invalidPlant(error[0]?.instancePath.slice(1) ?? '', body) }
    const { id, name, tag } = value
    return { value: tag === undefined ? { id, name } : { id, name, tag } }
  }
}

function invalidPlant (field: string, body: unknown): ApiError {
  const isMissing = field in fieldRules && !Object.hasOwn(Object(body), field)
  return new ApiError('plantInvalid', isMissing ? `${field} is missing: ${fieldRules[field]}` : fieldRules[field])
}

const compileSerializer = SerializerSelector()()
/** All error statuses have one schema. */
const serializers = new WeakMap<TObject, (payload: unknown) => string>()

/**
 * The scope's serializer compiler: Fastify's own, for bodies of exactly the schema's shape. What else a host's hook
 * sends with the same status is passed on unchanged, and an Error is sent as Fastify's default error handler does.
 */
export function serializerCompiler (route: FastifyRouteSchemaDef<TObject>) {
  const known = serializers.get(route.schema)
  if (known !== undefined) return known
  const serialize = compileSerializer({ httpStatus: '', ...route })
  const shape = TypeCompiler.Compile({ ...route.schema, additionalProperties: false })
  const serializer = (payload: unknown): string => {
    if (shape.Check(payload)) return serialize(payload)
    if (!(payload instanceof Error)) return JSON.stringify(payload)
    const { message, statusCode, code, error }: Error & Record<'statusCode' | 'code' | 'error', unknown> = Object(payload)
    return JSON.stringify({ statusCode, code, error, message })
  }
  serializers.set(route.schema, serializer)
  return serializer
}
