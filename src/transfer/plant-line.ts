import { parseBody } from '../http/body/json-body.js'
import { ApiError } from '../http/errors/error-codes.js'
import { validatePlant } from '../http/schemas/validation.js'
import type { NewPlant } from '../stores/plant-store.js'

/** Formats a plant as a line of NDJSON with its newline: the id exactly, a tag only if there is one. */
export function formatPlantLine ({ id, name, tag }: NewPlant): string {
  return tag === undefined
    ? `{"id":${id},"name":${JSON.stringify(name)}}\n`
    : `{"id":${id},"name":${JSON.stringify(name)},"tag":${JSON.stringify(tag)}}\n`
}

/** Parses a line as `POST /plants` parses its body; returns the plant, or why it is not a plant. */
export function parsePlantLine (line: Buffer): NewPlant | string {
  try {
    const result = validatePlant(parseBody(line))
    if ('error' in result) throw result.error
    const { id, name, tag } = result.value
    return tag === undefined ? { id, name } : { id, name, tag }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.message.replace('The body', 'it')
  }
}
