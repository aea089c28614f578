import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { channels } from './diagnostics.js'
import { openStore } from './open-store.js'
import { checkOptions, type PlantStoreOptions } from './options.js'
import { bearerAuthentication } from './route/authentication.js'
import { bodyParser, checkHeaders } from './route/body-parser.js'
import { requestedPlant, setCompilers } from './route/compilers.js'
import { plantCreator } from './route/create-plant.js'
import { errorHandler } from './route/errors.js'
import { PendingRequests, type PendingRequest } from './route/pending-requests.js'
import { createPlantSchema, describeOperation } from './route/schemas.js'

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
  const { store, tokens, storeTimeout, bodyLimit, ...limits } = checkOptions(options)
  const pending = new PendingRequests(limits)
  channels.queue.publish(pending)
  const authenticate = await bearerAuthentication(app, tokens)
  const createPlant = plantCreator(store, pending, storeTimeout)

  app.decorateRequest('plantStorePending', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', bodyParser(bodyLimit))
  setCompilers(app)
  app.setErrorHandler(errorHandler(app.errorHandler))
  // After the hooks that onRoute hooks of the host have added, such as a rate limit.
  app.addHook('onRoute', route => {
    route.onRequest = [route.onRequest ?? [], authenticate, checkHeaders(pending, bodyLimit)].flat()
    route.onSend = [route.onSend ?? [], pending.endRequest].flat()
  })

  const config = { swaggerTransform: describeOperation }
  app.post('/plants', { schema: createPlantSchema(), bodyLimit, config }, request => (
    createPlant(requestedPlant(request), request.plantStorePending as PendingRequest)
  ))

  await openStore(app, store, storeTimeout)
}

// Without the type provider, of which a host may have another version.
export const plantStore: FastifyPluginAsync<PlantStoreOptions> = fp(plugin, {
  name: 'plant-store', fastify: '>=5.11.2 <6', encapsulate: true
})
