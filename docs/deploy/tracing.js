// OpenTelemetry for the service or for a host: node --import ./tracing.js …. It needs @opentelemetry/api,
// @opentelemetry/sdk-node and @fastify/otel, and takes the SDK's own variables, such as OTEL_EXPORTER_OTLP_ENDPOINT.
import { subscribe } from 'node:diagnostics_channel'
import { FastifyOtelInstrumentation } from '@fastify/otel'
import { trace } from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'

const sdk = new NodeSDK({
  serviceName: process.env.OTEL_SERVICE_NAME ?? 'plant-store',
  instrumentations: [
    // One span for a request, with its method, route and status; none for each hook.
    new FastifyOtelInstrumentation({
      registerOnInitialization: true,
      instrumentHooks: false,
      instrumentHandler: false,
      requestHook: (span, request) => { span.updateName(`${request.method} ${request.routeOptions.url ?? ''}`.trimEnd()) }
    })
  ]
})
sdk.start()

// Spans that are still in memory are sent when the app has closed.
subscribe('fastify.initialization', ({ fastify }) => { fastify.addHook('onClose', () => sdk.shutdown()) })

// One span for each batch. Many requests share it, so it has no parent; each request's span links to it.
const tracer = trace.getTracer('plant-store')
const batches = new WeakMap()
let lastBatch

subscribe('plant-store:batch:start', batch => {
  const attributes = { 'plant_store.plants': batch.plants }
  batches.set(batch, tracer.startSpan('plant-store batch', { root: true, attributes }))
})
subscribe('plant-store:batch:end', batch => {
  lastBatch = batches.get(batch)
  lastBatch?.setAttribute('plant_store.retries', batch.retries).end()
})
// Published immediately after the end of the batch, in the context of each of its requests.
subscribe('plant-store:create:end', ({ outcome }) => {
  const span = trace.getActiveSpan()
  span?.setAttribute('plant_store.outcome', outcome)
  if (lastBatch !== undefined) span?.addLink({ context: lastBatch.spanContext() })
})
