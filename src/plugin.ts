import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import fp from 'fastify-plugin'
import { channels } from './diagnostics.js'
import { checkOptions, type PlantStoreOptions } from './options.js'
import { bearerAuthentication } from './route/authentication.js'
import { bodyReader } from './route/body-reader.js'
import { serializerCompiler, validatorCompiler } from './route/compilers.js'
import { plantCreator } from './route/create-plant.js'
import { ApiError, errorHandler } from './route/errors.js'
import { BODY_BYTES, PendingLimits } from './route/pending-limits.js'
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
 * The host's hooks apply as in any scope. The parser, the compilers and the error handler are the plugin's own; errors
 * that are not its own go to the host's error handler.
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
  const authenticate = await bearerAuthentication(app, tokens)

  app.decorateRequest(BODY_BYTES, 0)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', bodyReader(limits))
  app.addContentTypeParser('*', (_request, payload, done) => {
    // Read, since a stream that a preParsing hook of the host pipes would hold up a client that is still sending.
    payload.on('error', () => {}).resume()
    done(new ApiError('mediaTypeUnsupported'))
  })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(errorHandler(app.errorHandler))
  // The last of the route's hooks: those that onRoute hooks of the host add, such as a rate limit, run before it.
  app.addHook('onRoute', route => { route.onRequest = [route.onRequest ?? [], authenticate].flat() })

  // A copy, since onRoute hooks of the host may change it.
  const schema = { ...createPlantSchema }
  app.post('/plants', { schema, config: { swaggerTransform: describeOperation } }, async request => {
    const { name, tag } = request.body
    await createPlant(request.body, request.getDecorator<number>(BODY_BYTES))
    return tag === undefined ? { name } : { name, tag }
  })

  const opened = Promise.resolve(store.open?.())
  // It may open only after Fastify's pluginTimeout.
  app.addHook('onClose', async () => { if (await opened.catch(() => false)) await store.close?.() })
  await opened
}

export const plantStore = fp(plugin, { name: 'plant-store', fastify: '>=5.6.0 <6', encapsulate: true })
