import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import type { FastifyReply } from 'fastify'
import type { ApiError } from './errors.js'
import { ErrorSchema, PlantSchema, type ErrorWire, type NewPlantWire, type PlantWire } from './schemas.js'

const compile = SerializerSelector()()
const stringifyPlant = compile({ schema: PlantSchema, method: 'POST', url: '/plants', httpStatus: '200' })
const stringifyError = compile({ schema: ErrorSchema, method: 'POST', url: '/plants', httpStatus: 'default' })

/** The body of a 200. The class distinguishes it from a body that a hook of the host sends. */
export class PlantBody implements PlantWire {
  readonly name: string
  declare readonly tag?: string

  constructor ({ name, tag }: NewPlantWire) {
    this.name = name
    if (tag !== undefined) this.tag = tag
  }
}

/** The body of a non-2xx response. */
export class ErrorBody implements ErrorWire {
  readonly error: number
  readonly message: string

  constructor ({ error, message }: ApiError) {
    this.error = error
    this.message = message
  }
}

/**
 * A serializer for `reply.serializer`, which takes precedence over one that a hook of the host has chosen. It is used
 * once: if an onSend hook fails, the host's error response has Fastify's own serializer and content type.
 */
export function serializeOnce (this: FastifyReply, payload: unknown): string {
  // The type of `serializer` has no null, the initial value.
  Reflect.apply(this.serializer, this, [null])
  return serialize(payload)
}

/**
 * Serializes the plugin's own bodies by their schemas. What a hook of the host sends is passed on unchanged, even if
 * its status has a schema here; an Error is sent as Fastify's default error handler sends it.
 */
export function serialize (payload: unknown): string {
  if (payload instanceof PlantBody) return stringifyPlant(payload)
  if (payload instanceof ErrorBody) return stringifyError(payload)
  if (!(payload instanceof Error)) return JSON.stringify(payload)
  const fields: Error & { statusCode?: unknown, code?: unknown, error?: unknown } = payload
  const { statusCode, code, error, message } = fields
  return JSON.stringify({ statusCode, code, error, message })
}
