import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { errorAnswerer } from './answer-error.js'
import { ApiError, apiErrors } from './api-error.js'
import { bearerAuthentication, type Tokens } from './authenticate.js'
import { plantCreator, type CreateLimits } from './create-plant.js'
import { parsePlantBody } from './plant-body-parser.js'
import { ErrorSchema, NewPlantSchema, PlantSchema } from './plant-schemas.js'
import { bodyReader } from './read-body.js'
import type { PlantStore } from './stores/plant-store.js'
import { TypeBoxValidatorCompiler } from './typebox.js'

const errorStatuses = Object.values(apiErrors).map(([status]) => status)

/** `POST /plants`: what it takes and every answer it gives, for the compiled validator and serializers and for OpenAPI. */
export const plantSchema = {
  operationId: 'createPlant',
  summary: 'Creates a new plant in the store',
  security: [{ bearer: [] }],
  body: NewPlantSchema,
  response: {
    200: PlantSchema,
    ...Object.fromEntries(errorStatuses.map(status => [status, ErrorSchema]))
  }
}

/** What the routes need; nothing of it has a default here. */
export interface PlantRoutesOptions extends CreateLimits {
  store: PlantStore
  tokens: Tokens
  /** Bytes of a request body. */
  bodyLimit: number
  /** Where answers of 500 or more are told. */
  log: FastifyBaseLogger
  /** The path of plants; `/plants` by default. */
  url?: string
  /** The request that a token function gets; by default the very one. */
  asSeenByTheHost?: (request: FastifyRequest) => FastifyRequest
}

/**
 * The service core, an encapsulated Fastify plugin: `POST /plants` as the contract has it, and the answers where no
 * route is. It reads no environment, and opens and closes nothing.
 */
export async function plantRoutes (app: FastifyInstance, options: PlantRoutesOptions): Promise<void> {
  const { store, tokens, bodyLimit, log, url = '/plants', asSeenByTheHost = request => request } = options
  const answerError = errorAnswerer(log, `${app.prefix}${url}`)

  app.setValidatorCompiler(TypeBoxValidatorCompiler)
  app.removeAllContentTypeParsers()
  app.setErrorHandler(answerError)
  app.setNotFoundHandler((request, reply) => answerError(new ApiError('pathUnknown'), request, reply))

  app.withTypeProvider<TypeBoxTypeProvider>().route({
    method: 'POST',
    url,
    schema: plantSchema,
    onRequest: await bearerAuthentication(app, tokens, asSeenByTheHost),
    preValidation: bodyReader(bodyLimit, parsePlantBody),
    handler: plantCreator(store, options)
  })
  // To Fastify a POST has no body from here on: the route reads it.
  app.addHttpMethod('POST', { hasBody: false, overrideExisting: true })
}
