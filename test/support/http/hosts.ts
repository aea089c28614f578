import fastify, { type FastifyInstance, type RegisterOptions } from 'fastify'
import type { Test } from 'tap'
import plantStore, { memoryPlantStore, type PlantStoreOptions } from '../../../src/index.js'
import { answersError, answersPlant, create, TOKEN } from './service.js'

export const PLANT = { id: 1, name: 'Ficus' }
export const tokens = [TOKEN]

/** A Fastify app to register the plugin in; closed after the test. */
export function host (t: Test, options = {}): FastifyInstance {
  const app = fastify({ logger: false, ...options })
  t.teardown(() => app.close())
  return app
}

/** Registers the plugin, with a memory store unless the options have another, and returns the memory store. */
export async function register (app: FastifyInstance, options: Partial<PlantStoreOptions & RegisterOptions> = {}) {
  const store = memoryPlantStore()
  await app.register(plantStore, { store, tokens, ...options })
  return store
}

/** Asserts the parts of the contract that a host could affect. */
export async function keepsTheContract (t: Test, app: FastifyInstance, url = '/plants'): Promise<void> {
  const response = await create(app, url, { id: 1, name: 'Ficus', tag: 'tree', more: 1 })
  answersPlant(t, response, { name: 'Ficus', tag: 'tree' })
  answersPlant(t, await create(app, url, '{"id":9007199254740993,"name":"Fern"}'), { name: 'Fern' })
  answersError(t, await create(app, url), 40001, /^The request has no body/)
  answersError(t, await create(app, url, '{"__proto__":{}}'), 40002, /^The body is not acceptable JSON/)
  for (const id of ['"1"', 'null', 'true', '1.5', '9223372036854775808']) {
    answersError(t, await create(app, url, `{"id":${id},"name":"x"}`), 40003, /^id must be an integer/, `id ${id}`)
  }
  answersError(t, await create(app, url, '{"id":1,"name":null}'), 40003, /^name must be a string/)
  const missing = await create(app, url, PLANT, { authorization: undefined })
  answersError(t, missing, 40101, /^No well-formed credentials/)
  t.equal(missing.headers['www-authenticate'], 'Bearer realm="plant-store"')
  answersError(t, await create(app, url, PLANT, { authorization: 'Bearer an-unknown-token' }), 40102, /not accepted/)
  answersError(t, await create(app, url, 'x', { 'content-type': 'text/plain' }), 41501, /must be JSON/)
}
