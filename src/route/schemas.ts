import { Kind, Type, TypeRegistry, type Static } from '@sinclair/typebox'

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
export const PlantSchema = Type.Object(plantFields, { title: 'Plant', description: 'The plant, which is stored durably' })

/** A plant as a client sends it. Fields that the schema does not name are ignored. */
export const NewPlantSchema = Type.Object({
  id: int64('Identification number of the plant, exact over all of int64', 1),
  ...plantFields
}, { title: 'NewPlant', description: 'The plant to create' })

/** The body of any non-2xx response. */
export const ErrorSchema = Type.Object({
  error: Type.Integer({ format: 'int32', description: 'Numeric error value', examples: [40003] }),
  message: Type.String({ description: 'Error message text', examples: ['name must be a string of well-formed Unicode'] })
}, { title: 'Error', description: 'What is wrong, and what to do next' })

/** A NewPlant, parsed: `id` is an integer on the wire and a bigint here. */
export type NewPlantWire = Static<typeof NewPlantSchema>
export type PlantWire = Static<typeof PlantSchema>
export type ErrorWire = Static<typeof ErrorSchema>

/** The schemas of `POST /plants`, for the compiled validator and serializers and for OpenAPI. */
export const createPlantSchema = {
  summary: 'Creates a new plant in the store',
  body: NewPlantSchema,
  response: {
    200: PlantSchema,
    400: ErrorSchema,
    401: ErrorSchema,
    413: ErrorSchema,
    415: ErrorSchema,
    500: ErrorSchema,
    503: ErrorSchema,
    504: ErrorSchema
  }
}
