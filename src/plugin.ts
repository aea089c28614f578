import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fp from 'fastify-plugin'
import { ApiError } from './api-error.js'
import { channels } from './diagnostics.js'
import { checkOptions, type PlantStoreOptions } from './options.js'
import { PendingLimits, type PendingRequest } from './pending/pending-request.js'
import { bearerAuthentication } from './route/authentication.js'
import { bodyReader, refuseBody } from './route/body-reader.js'
import { requestedPlant, setCompilers } from './route/compilers.js'
import { plantCreator } from './route/create-plant.js'
import { errorHandler } from './route/errors.js'
import { PENDING, pendingRequests } from './route/pending-requests.js'
import { createPlantSchema, describeOperation } from './route/schemas.js'
import { openStore } from './open-store.js'

/**
 * The plant store as a Fastify plugin: adds the route `POST <prefix>/plants`, in a scope of its own.
 *
 * ```ts
 * app.register(plantStore, {
 *   prefix: '/v1', store: sqlitePlantStore({ path: 'plants.db' }), tokens: ['an-access-token-of-yours']
 * })
 * ```
 *
 * The host's hooks apply as in any scope. The parser, the compilers of its schemas and the error handler are the
 * plugin's own; errors that are not its own go to the host's error handler.
 *
 * The plugin opens the store, and closes it with the host unless the host has opened it.
 * @throws {TypeError} if an option is invalid; the message says what is allowed
 * @throws {StoreUnusable} if the store can never be opened
 */
const plugin: FastifyPluginAsyncTypebox<PlantStoreOptions> = async (app, options) => {
  const { store, tokens, storeTimeout, ...bounds } = checkOptions(options)
  const limits = new PendingLimits(bounds)
  channels.queue.publish(limits)
  const createPlant = plantCreator(store, limits, storeTimeout)
  const expectBody = pendingRequests(app, limits, storeTimeout)
  const authenticate = await bearerAuthentication(app, tokens)

  app.decorateRequest(PENDING, null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', bodyReader(limits))
  app.addContentTypeParser('*', (request, payload, done) => {
    refuseBody(request, payload, new ApiError('mediaTypeUnsupported'), done)
  })
  app.setErrorHandler(errorHandler(app.errorHandler))
  // After the onRoute hooks of the host, which may add hooks, such as a rate limit, and schemas, or set the limit.
  app.addHook('onRoute', route => {
    bounds.bodyLimit = route.bodyLimit || bounds.bodyLimit
    route.onRequest = [expectBody, route.onRequest ?? [], authenticate].flat()
    setCompilers(app, route)
  })

  const config = { swaggerTransform: describeOperation }
  app.post('/plants', { schema: createPlantSchema(), bodyLimit: bounds.bodyLimit, config }, request => (
    createPlant(requestedPlant(request), request.getDecorator<PendingRequest>(PENDING))
  ))

  await openStore(app, store, storeTimeout)
}

export const plantStore = fp(plugin, { name: 'plant-store', fastify: '>=5.11.2 <6', encapsulate: true })
