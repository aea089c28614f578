import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { channels, type QueueMessage } from '../../../src/diagnostics.js'
import type { Tokens } from '../../../src/route/authentication.js'
import { createApp } from '../../../src/service/http/app.js'
import type { Configuration } from '../../../src/service/configuration/configuration.js'
import { Health } from '../../../src/service/http/health.js'
import type { PlantStore } from '../../../src/stores/store.js'

export const TOKEN = 'a-token-for-the-tests'
export const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`
export const JSON_TYPE = 'Content-Type: application/json'
/** The lines with which a create request over a socket begins. */
export const HEAD = ['POST /plants HTTP/1.1', 'Host: localhost', AUTHORIZATION, JSON_TYPE]

export interface Service {
  app: FastifyInstance
  health: Health
  log: string[]
  queue: QueueMessage
  /** Sends `POST /plants` with an accepted token; `headers` override. A string or bytes are sent unchanged. */
  create: (body?: unknown, headers?: Record<string, string | undefined>) => Promise<LightMyRequestResponse>
}

/** The service, not listening, on a store that is opened here and closed after the test. */
export async function buildService (
  t: Pick<Test, 'teardown'>, store: PlantStore,
  { tokens = [TOKEN], ...configuration }: Partial<Configuration> & { tokens?: Tokens } = {}
): Promise<Service> {
  const log: string[] = []
  const health = new Health(store)
  await store.open?.()
  let queue: QueueMessage = { pending: 0, bytes: 0 }
  const observe = (message: QueueMessage): void => { queue = message }
  channels.queue.subscribe(observe)
  const app = await createApp({
    configuration,
    store,
    tokens,
    health,
    log: pino({ level: 'trace' }, { write: (line: string) => { log.push(line) } })
  })
  channels.queue.unsubscribe(observe)
  t.teardown(async () => {
    await app.close()
    await store.close?.()
  })
  return { app, health, log, queue, create: (body, headers) => create(app, '/plants', body, headers) }
}

/** The service, listening on a free port; its connections are closed after the test. */
export async function serve (...args: Parameters<typeof buildService>): Promise<Service & { port: number }> {
  const service = await buildService(...args)
  const { server } = service.app
  await service.app.ready()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  args[0].teardown(() => server.closeAllConnections())
  return { ...service, port: (server.address() as AddressInfo).port }
}

/** Sends a plant by `inject`; a header that is undefined is left out. */
export async function create (
  app: FastifyInstance, url: string, body?: unknown, headers: Record<string, string | undefined> = {}
): Promise<LightMyRequestResponse> {
  const all = Object.entries({ authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers })
  const sent = Object.fromEntries(all.filter(([, value]) => value !== undefined))
  const options: InjectOptions = { method: 'POST', url, headers: sent }
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
  if (body !== undefined) options.payload = isRaw ? body : JSON.stringify(body)
  return await app.inject(options)
}

/** Asserts a 200 with exactly this plant. */
export function answersPlant (t: Test, response: LightMyRequestResponse, plant: object, name = response.body): void {
  t.strictSame({ status: response.statusCode, type: response.headers['content-type'], body: response.json() },
    { status: 200, type: 'application/json; charset=utf-8', body: plant }, name)
}

/** Asserts a response with the Error shape, exactly this error number, and its status. */
export function answersError (
  t: Test, response: LightMyRequestResponse, error: number, message: RegExp, name = response.body
): void {
  const body = response.json()
  const type = 'application/json; charset=utf-8'
  t.strictSame(
    {
      status: response.statusCode, type: response.headers['content-type'], fields: Object.keys(body), error: body.error
    },
    { status: Math.floor(error / 100), type, fields: ['error', 'message'], error }, name)
  t.match(body.message, message, name)
}
