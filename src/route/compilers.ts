import { createRequire } from 'node:module'
import SerializerSelector from '@fastify/fast-json-stringify-compiler'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.js'
import { validatePlant, type NewPlant } from '../plant.js'
import { responses } from './schemas.js'

/** Of validators or of serializers: Fastify's own types of both do not fit together. */
type Compiler = (route: any) => any

const require = createRequire(import.meta.url)
const compileSerializer: Compiler = SerializerSelector()()

/**
 * Sets the scope's compilers: the plugin's for a plant and for its own responses; for what an `onRoute` hook of the host
 * adds, such as headers or a 429, those that the host has set, or Fastify's default ones.
 */
export function setCompilers (app: FastifyInstance): void {
  const { validatorCompiler, serializerCompiler } = app
  app.setSchemaController({
    compilersFactory: {
      buildValidator: (...options: [any, any]) => withOwnValidator(route => ajvCompiler()(...options)(route)),
      buildSerializer: (...options) => withOwnSerializers(SerializerSelector()(...options))
    }
  })
  if (validatorCompiler !== undefined) app.setValidatorCompiler(withOwnValidator(validatorCompiler))
  if (serializerCompiler !== undefined) app.setSerializerCompiler(withOwnSerializers(serializerCompiler))
}

/** Loaded only if a host adds a schema: Ajv takes 7 % of the time of a start. */
function ajvCompiler (): ReturnType<typeof import('@fastify/ajv-compiler').default> {
  return require('@fastify/ajv-compiler')()
}

function withOwnValidator (others: Compiler): Compiler {
  return route => route.httpPart === 'body' ? validateBody : others(route)
}

function withOwnSerializers (others: Compiler): Compiler {
  return route => route.httpStatus in responses ? responseSerializer(route) : others(route)
}

function validateBody (body: unknown): ReturnType<typeof validatePlant> {
  // Fastify validates null if there is no body; the parser refuses a literal null.
  return body === null ? { error: new ApiError('bodyMissing') } : validatePlant(body)
}

/**
 * The plant of a request as the hooks of the app have left it.
 * @throws the error of the validation if a hook has set `attachValidation`; `internal` if the body is no plant any more
 */
export function requestedPlant ({ body, validationError }: FastifyRequest<any>): NewPlant {
  if (validationError) throw validationError
  const validated = validatePlant(body)
  if ('value' in validated) return validated.value
  throw new ApiError('internal', 'The app made the plant invalid; this request did not store it', validated.error)
}

/** Fastify's own. What else a host's hook sends with this status is passed on, and an Error as Fastify sends it. */
function responseSerializer (route: { httpStatus: string }): (body: any) => string {
  const serialize = compileSerializer(route)
  const isOwn = (body: any): boolean => (
    route.httpStatus === '200' ? typeof body?.name === 'string' : Number.isInteger(body?.error)
  )
  return body => {
    if (isOwn(body)) return serialize(body)
    const { statusCode, code, error, message } = Object(body)
    return JSON.stringify(body instanceof Error ? { statusCode, code, error, message } : body)
  }
}
