import type { FastifyRequest } from 'fastify'
import type { NewPlantWire } from './schemas.js'

/** The size of the body in bytes, set by the body parser. */
export const bodyBytes = Symbol('plant-store.bodyBytes')
/** Why the body parser refused the body; reported once the host's preValidation hooks have run. */
export const refusal = Symbol('plant-store.refusal')
/** The plant that was validated, which is stored. */
export const validPlant = Symbol('plant-store.validPlant')

/**
 * A create request on its way from the body parser through `validateBody` to the handler. What the plugin itself hands
 * on is under symbols, since a hook of the host may change or replace `request.body` in between.
 */
export interface PlantRequest extends FastifyRequest {
  [bodyBytes]?: number
  [refusal]?: Error
  [validPlant]?: NewPlantWire
}
