import type { Static } from '@sinclair/typebox'
import { Kind, Type, TypeRegistry } from './typebox.js'

// JSON Schema has no keyword for a 64-bit integer that JavaScript keeps exactly, nor for well-formed Unicode: both are
// TypeBox kinds, which compile into the validator and appear in OpenAPI as what they are on the wire.
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

/** A plant as the service answers it. */
export const PlantSchema = Type.Object(plantFields, { title: 'Plant' })

/** A plant as a client sends it. Fields that it does not name are ignored. */
export const NewPlantSchema = Type.Object({
  id: int64('Identification number of the plant, exact over all of int64', 1),
  ...plantFields
}, { title: 'NewPlant' })

/** Every answer that is no 2xx. */
export const ErrorSchema = Type.Object({
  error: Type.Integer({ format: 'int32', description: 'Numeric error value', examples: [40003] }),
  message: Type.String({ description: 'Error message text', examples: ['id must be an integer from -2^63 to 2^63 - 1'] })
}, { title: 'Error' })

export type NewPlantBody = Static<typeof NewPlantSchema>

/** What each field of a NewPlant must be, in the words of error messages. */
export const fieldRules: Readonly<Record<string, string>> = {
  id: 'id must be an integer from -9223372036854775808 to 9223372036854775807 (int64)',
  name: 'name must be a string of well-formed Unicode',
  tag: 'tag must be a string of well-formed Unicode, or be left out'
}
