import type { FastifyPluginAsync } from 'fastify'
import { channels } from './diagnostics.js'
import { bearerAuthentication } from './route/authentication.js'
import { bodyParser } from './route/body-reader.js'
import { createPlantHandler } from './route/create-plant.js'
import { CreateQueue } from './route/pending-limits.js'
import { errorHandler } from './route/error-handler.js'
import { createPlantSchema } from './route/schemas.js'
import { serialize } from './route/serialization.js'
import { validateBody } from './route/compilers.js'
import './kept-tick.js'
import { checkOptions, type PlantStoreOptions } from './options.js'

/**
 * The plant store as a Fastify plugin: adds the route `POST <prefix>/plants`, in a scope of its own.
 *
 * ```ts
 * app.register(plantStore, {
 *   prefix: '/v1', store: sqlitePlantStore({ path: 'plants.db' }), tokens: ['an-access-token-of-yours']
 * })
 * ```
 *
 * The host's hooks apply as in any scope. Reading, parsing, validation, serialization and error shape are the plugin's
 * own; errors that are not its own go to the host's error handler.
 *
 * The plugin opens the store, and closes it with the host unless the host has opened it.
 * @throws {TypeError} if an option is invalid; the message says what is allowed
 * @throws {StoreUnusable} if the store can never be opened
 */
export const plantStore: FastifyPluginAsync<PlantStoreOptions> = async (app, options) => {
  const { store, tokens, bodyLimit, storeTimeout, ...limits } = checkOptions(options)
  const queue = new CreateQueue(limits)
  channels.queue.publish(queue)

  app.removeAllContentTypeParsers()
  // Also registered by name, since for a catch-all parser Fastify parses the media type again: 3 % of a create request.
  app.addContentTypeParser(['application/json', '*'], bodyParser(bodyLimit, queue))
  app.setErrorHandler(errorHandler(app.errorHandler))
  // Set after the host's onRoute hooks have run, which may add hooks, as @fastify/rate-limit does, but no compilers.
  app.addHook('onRoute', route => {
    route.preValidation = [route.preValidation ?? [], validateBody].flat()
    route.validatorCompiler = () => () => true
    route.serializerCompiler = () => serialize
  })

  app.route({
    method: 'POST',
    url: '/plants',
    // A copy, since the host's onRoute hooks may change it. The compilers hold what was compiled from the original.
    schema: structuredClone(createPlantSchema),
    onRequest: await bearerAuthentication(app, tokens),
    handler: createPlantHandler(store, queue, storeTimeout)
  })

  const opened = Promise.resolve(store.open?.())
  // It may open only after Fastify's pluginTimeout.
  app.addHook('onClose', async () => { if (await opened.catch(() => false)) await store.close?.() })
  await opened
}

// The metadata that fastify-plugin sets: registering on another major version of Fastify fails with a clear message.
Object.assign(plantStore, {
  [Symbol.for('fastify.display-name')]: 'plant-store',
  [Symbol.for('plugin-meta')]: { name: 'plant-store', fastify: '>=5.6.0 <6' }
})
