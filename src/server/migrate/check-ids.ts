import type { Collection } from 'mongodb'
import type { PlantDocument } from '../../stores/mongo-writer.js'
import type { PlantsFile } from './plants-file.js'

const PAGE = 5_000
const AT_ONCE = 4

export interface CheckOptions {
  onMissing: (id: bigint) => void
  onProgress: (done: number) => void
  signal: AbortSignal
}

/**
 * Looks up every id of a file in MongoDB, on the majority.
 * @returns how many are there, and how many are not
 */
export async function checkIds (file: PlantsFile, plants: Collection<PlantDocument>, { onMissing, onProgress, signal }: CheckOptions): Promise<{ found: number, missing: number }> {
  let found = 0
  let missing = 0

  async function check (ids: bigint[]): Promise<void> {
    const documents = await plants.find({ _id: { $in: ids } }, {
      readPreference: 'primary', readConcern: 'majority', projection: { _id: 1 }, useBigInt64: true, promoteLongs: true, batchSize: PAGE
    }).toArray()
    // A small id may come back as a number.
    const there = new Set(documents.map(({ _id }) => BigInt(_id)))
    found += there.size
    for (const id of ids) {
      if (there.has(id)) continue
      missing++
      onMissing(id)
    }
    onProgress(found + missing)
  }

  const pages = file.ids(PAGE)
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    for (const page of pages) {
      if (signal.aborted) break
      await check(page)
    }
  })
  await Promise.all(lanes)
  return { found, missing }
}
