import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import { Kind, type TObject } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type {
  FastifyInstance, FastifyRequest, FastifySchemaCompiler, FastifySchemaValidationError, RouteOptions
} from 'fastify'
import type { FastifyRouteSchemaDef, FastifySerializerCompiler } from 'fastify/types/schema.js'
import { ApiError } from '../api-error.js'
import { checkedPlant, type NewPlant } from '../stores/store.js'
import { ErrorSchema, INT64, NewPlantSchema, PlantSchema } from './schemas.js'

/** The rule for each field of a NewPlant, as error messages state it. */
const fieldRules: Readonly<Record<string, string>> = {
  id: 'id must be an integer from -9223372036854775808 to 9223372036854775807 (int64): a JSON number, not a string',
  name: 'name must be a string of well-formed Unicode',
  tag: 'tag must be a string of well-formed Unicode, or be left out'
}

/**
 * The validator compiler of a NewPlant: the type provider's. A validator returns the plant without the fields that the
 * schema does not name, or an ApiError that names the field and its rule.
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

/**
 * The plant of a request as the hooks of the app have left it: one may have set `attachValidation` or changed the body.
 * @throws the error of the validation, or the ApiError `internal` if the body is no plant any more
 */
export function requestedPlant ({ body, validationError }: FastifyRequest<any>): NewPlant {
  // A hook may have repaired the body, and have set it to null.
  if (validationError instanceof Error) throw validationError
  try {
    return checkedPlant(body as NewPlant)
  } catch (error) {
    throw new ApiError('internal', 'The app made the plant invalid; this request did not store it', error)
  }
}

type Serializer = (payload: unknown) => string

const compileSerializer = SerializerSelector()()

/** The plugin's schemas by their JSON: an app may have copied those of its route, without the symbols of TypeBox. */
const ownSchemas = new Map([NewPlantSchema, PlantSchema, ErrorSchema].map(schema => [jsonOf(schema), schema]))
const serializers = new WeakMap<TObject, Serializer>()

/** The JSON of a schema without what only describes it. A property may have such a name: its value is a schema. */
function jsonOf (schema: object): string {
  const annotations = ['$id', '$comment', 'title', 'description', 'examples']
  return JSON.stringify(schema, (keyword, value) => {
    const isSchema = (typeof value === 'object' && !Array.isArray(value)) || typeof value === 'boolean'
    return annotations.includes(keyword) && !isSchema ? undefined : value
  })
}

/** The schema of the plugin that another one equals. */
function ownSchema (schema: unknown): TObject | undefined {
  // A schema of the app need not be JSON.
  const isPlain = typeof schema === 'object' && schema !== null && Object.getPrototypeOf(schema) === Object.prototype
  return isPlain ? ownSchemas.get(jsonOf(schema)) : undefined
}

/** The schema by which to validate a body if it is that of a NewPlant, which only the plugin's compiler understands. */
function newPlantSchema (schema: any): TObject | undefined {
  if (schema?.properties?.id?.[Kind] === INT64) return schema
  return ownSchema(schema) === NewPlantSchema ? NewPlantSchema : undefined
}

/** The serializer of a response; undefined if the schema is not one of the plugin's, or means something else. */
function responseSerializer (schema: unknown): Serializer | undefined {
  const own = ownSchema(schema)
  if (own === undefined) return undefined
  const serializer = serializers.get(own) ?? compileResponse(own)
  serializers.set(own, serializer)
  return serializer
}

/**
 * Fastify's own serializer, for bodies of exactly the schema's shape. What else a host's hook sends with the same
 * status is passed on unchanged, and an Error is sent as Fastify's default error handler does.
 */
function compileResponse (schema: TObject): Serializer {
  const serialize = compileSerializer({ schema, method: 'POST', url: '/plants', httpStatus: '' })
  const shape = TypeCompiler.Compile({ ...schema, additionalProperties: false })
  return payload => {
    if (shape.Check(payload)) return serialize(payload)
    if (!(payload instanceof Error)) return JSON.stringify(payload)
    const { message, statusCode, code, error }: Error & Partial<Record<'statusCode' | 'code' | 'error', unknown>> =
      payload
    return JSON.stringify({ statusCode, code, error, message })
  }
}

/**
 * Sets compilers on the route that compile the plugin's schemas, and leave every other, which an `onRoute` hook of the
 * host has added, to the compilers of the scope, as on any route. A compiler that such a hook has set for the whole
 * route stays.
 */
export function setCompilers (app: FastifyInstance, route: RouteOptions): void {
  const { body, params, querystring, query, headers, response }: Record<string, any> = route.schema ?? {}
  const bodies = contentsOf(body)
  const others = [params, querystring, query, headers].filter(schema => schema !== undefined)
  const responses = Object.values(response ?? {}).flatMap(contentsOf)
  // Until the app starts, a scope has only a compiler that the app has set.
  const isCustom = app.validatorCompiler !== undefined

  const validators: FastifySchemaCompiler<any> = definition => {
    const { schema, httpPart } = definition
    const newPlant = httpPart === 'body' ? newPlantSchema(schema) : undefined
    if (newPlant !== undefined) return validatorCompiler({ ...definition, schema: newPlant })
    const validatorOfScope = compilerOfScope('validatorCompiler')
    if (httpPart !== 'headers' || isCustom) return validatorOfScope(definition)
    return validatorOfScope({ ...definition, schema: withLowerCaseNames(schema) })
  }
  const serializers: FastifySerializerCompiler<any> = definition =>
    responseSerializer(definition.schema) ?? compilerOfScope('serializerCompiler')(definition)

  function compilerOfScope<N extends 'validatorCompiler' | 'serializerCompiler'> (name: N) {
    const compiler = app[name]
    if (compiler === undefined) throw new TypeError(`the scope has no ${name}`)
    return compiler
  }

  function set (name: 'validatorCompiler' | 'serializerCompiler', compiler: Function, needsScope: boolean): void {
    if (route[name] !== undefined) return
    // Fastify makes the compilers of a scope while it starts, for the first route that has none of its own. So this
    // route has none until then.
    const get = () => needsScope && app[name] === undefined ? undefined : compiler
    Object.defineProperty(route, name, { get, enumerable: true, configurable: true })
  }

  // After Fastify has given the route's compilers to its requests: `request.validateInput` and `reply.serializeInput`
  // of a host use the scope's.
  app.after(() => {
    set('validatorCompiler', validators, others.length > 0 || !bodies.every(newPlantSchema))
    set('serializerCompiler', serializers, !responses.every(responseSerializer))
  })
}

/** The schemas of a body or of a response: one for each media type if it has `content`. */
function contentsOf (schema: any): unknown[] {
  if (schema === undefined) return []
  return schema?.content === undefined ? [schema] : Object.values<any>(schema.content).map(({ schema }) => schema)
}

/** As Fastify does for its default compiler: Node has the names of headers in lower case. */
function withLowerCaseNames (schema: any): any {
  if (Array.isArray(schema)) return schema.map(withLowerCaseNames)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries<any>(schema).map(([keyword, value]) => {
    if (keyword === 'required' && Array.isArray(value)) return [keyword, value.map(name => String(name).toLowerCase())]
    if (keyword !== 'properties') return [keyword, withLowerCaseNames(value)]
    const properties = Object.entries(value).map(([name, inner]) => [name.toLowerCase(), withLowerCaseNames(inner)])
    return [keyword, Object.fromEntries(properties)]
  })
  return { ...schema, ...Object.fromEntries(entries) }
}
