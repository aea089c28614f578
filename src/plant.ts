import { Kind, Type, TypeRegistry, type Static } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { ApiError } from './api-error.js'

/** A plant to create. */
export interface NewPlant {
  /** Identification number, any int64. */
  id: bigint
  /** Well-formed Unicode: no lone surrogates. NUL is allowed. */
  name: string
  /** Absent, never `undefined`, if the plant has none. */
  tag?: string
}

// JSON Schema has no keyword for an exact 64-bit integer, nor for well-formed Unicode. Both are custom TypeBox kinds,
// which compile into the validator and appear in OpenAPI as their types on the wire.
const INT64 = 'plant-store:int64'
const TEXT = 'plant-store:text'

function registerKinds (): void {
  TypeRegistry.Set(INT64, (_schema, value) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value)
  TypeRegistry.Set(TEXT, (_schema, value) => typeof value === 'string' && value.isWellFormed())
}

registerKinds()

const int64 = (options: object) => Type.Unsafe<bigint>({ [Kind]: INT64, type: 'integer', format: 'int64', ...options })
const text = (options: object) => Type.Unsafe<string>({ [Kind]: TEXT, type: 'string', ...options })

const name = { description: 'The name of the plant', examples: ['Monstera deliciosa'] }
const tag = { description: 'Tag to specify the type', examples: ['aroid'] }

/** A plant as a client sends it. Fields that the schema does not name are ignored. */
export const NewPlantSchema = Type.Object({
  id: int64({ description: 'Identification number of the plant, exact over all of int64', examples: [1] }),
  name: text(name),
  tag: Type.Optional(text(tag))
}, { title: 'NewPlant', description: 'The plant to create. Fields that are not named here are ignored.' })

/** A plant as the service returns it. */
export const PlantSchema = Type.Object({ name: Type.String(name), tag: Type.Optional(Type.String(tag)) }, {
  title: 'Plant', description: 'The plant, which is stored durably, now or by an earlier request'
})

/** What the service returns. */
export type PlantWire = Static<typeof PlantSchema>

/** The rule for each field of a NewPlant, as error messages state it. */
const fieldRules: Readonly<Record<string, string>> = {
  id: 'id must be an integer from -9223372036854775808 to 9223372036854775807 (int64): a JSON number, not a string',
  name: 'name must be a string of well-formed Unicode',
  tag: 'tag must be a string of well-formed Unicode, or be left out'
}

// The compiler is of the same copy of TypeBox as the kinds, whatever other copies an app has.
const newPlant = TypeCompiler.Compile(NewPlantSchema)

/**
 * The validator of a NewPlant, as JSON or a caller has it: copies the plant without further fields, or returns an
 * ApiError that names the field and its rule, and never contains the plant.
 */
export function validatePlant (value: unknown): { value: NewPlant } | { error: ApiError } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { error: new ApiError('plantInvalid') }
  const { id, name, tag } = value as Record<string, unknown>
  const plant = tag === undefined ? { id, name } : { id, name, tag }
  if (isNewPlant(plant)) return { value: plant }
  const field = newPlant.Errors(plant).First()?.path.slice(1) ?? ''
  const isMissing = !Object.hasOwn(value, field)
  return { error: new ApiError('plantInvalid', isMissing ? `${field} is missing: ${fieldRules[field]}` : fieldRules[field]) }
}

function isNewPlant (plant: unknown): plant is NewPlant {
  if (newPlant.Check(plant)) return true
  if (TypeRegistry.Has(INT64)) return false
  // The registry belongs to the whole process: an app may have cleared it.
  registerKinds()
  return newPlant.Check(plant)
}
