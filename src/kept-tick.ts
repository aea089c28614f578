import { executionAsyncResource } from 'node:async_hooks'

/**
 * What `process.nextTick` once queued. On Node 20, a garbage collection during startup can discard V8's hidden class of
 * such objects; from then on a create request takes 5 to 10 % more processor time. An object that is kept prevents it.
 */
export const kept: { tick?: object } = {}
process.nextTick(() => { kept.tick = executionAsyncResource() })
