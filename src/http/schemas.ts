import type { Static } from '@sinclair/typebox'
import { errorCodes } from './errors.js'
import { Kind, Type, TypeRegistry } from './typebox.js'

// JSON Schema has no keyword for an exact 64-bit integer, nor for well-formed Unicode. Both are custom TypeBox kinds,
// which compile into the validator and appear in OpenAPI as their types on the wire.
TypeRegistry.Set('plant-store:int64', (_schema, value) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value)
TypeRegistry.Set('plant-store:text', (_schema, value) => typeof value === 'string' && value.isWellFormed())

const text = (description: string, example: string) =>
  Type.Unsafe<string>({ [Kind]: 'plant-store:text', type: 'string', description, examples: [example] })

const int64 = (description: string, example: number) =>
  Type.Unsafe<bigint>({ [Kind]: 'plant-store:int64', type: 'integer', format: 'int64', description, examples: [example] })

const plantFields = {
  name: text('The name of the plant', 'Monstera deliciosa'),
  tag: Type.Optional(text('Tag to specify the type', 'aroid'))
}

/** A plant as the service returns it. */
export const PlantSchema = Type.Object(plantFields, { title: 'Plant' })

/** A plant as a client sends it. Fields that the schema does not name are ignored. */
export const NewPlantSchema = Type.Object({
  id: int64('Identification number of the plant, exact over all of int64', 1),
  ...plantFields
}, { title: 'NewPlant' })

/** The body of any non-2xx response. */
export const ErrorSchema = Type.Object({
  error: Type.Integer({ format: 'int32', description: 'Numeric error value', examples: [40003] }),
  message: Type.String({ description: 'Error message text', examples: ['id must be an integer from -2^63 to 2^63 - 1'] })
}, { title: 'Error' })

/** A NewPlant, parsed: `id` is an integer on the wire and a bigint here. */
export type NewPlantWire = Static<typeof NewPlantSchema>
export type PlantWire = Static<typeof PlantSchema>
export type ErrorWire = Static<typeof ErrorSchema>

const statuses = new Set(Object.values(errorCodes).map(([status]) => status))

/** The schemas of `POST /plants`, for the compiled validator and serializers and for OpenAPI. */
export const createPlantSchema = {
  operationId: 'createPlant',
  summary: 'Creates a new plant in the store',
  body: NewPlantSchema,
  response: {
    200: PlantSchema,
    ...Object.fromEntries([...statuses].map(status => [status, ErrorSchema]))
  }
}
