export interface Plant { id: number, name: string, tag?: string | undefined }
/** Returns false if the id is taken. */
export type Insert = (plant: Plant) => boolean | Promise<boolean>
/** Resolves to whether each plant was new. */
export type InsertMany = (plants: Plant[]) => Promise<boolean[]>

interface Pending { plant: Plant, resolve: (isNew: boolean) => void, reject: (error: unknown) => void }

/** Group commit at its simplest: plants that arrive while as many writes are in flight as may be form the next one. */
export function groupCommit (insertMany: InsertMany, maxInFlight: number): Insert {
  let pending: Pending[] = []
  let inFlight = 0

  async function flush (): Promise<void> {
    while (inFlight < maxInFlight && pending.length > 0) {
      const batch = pending
      pending = []
      inFlight++
      try {
        const areNew = await insertMany(batch.map(({ plant }) => plant))
        for (const [index, { resolve }] of batch.entries()) resolve(areNew[index] === true)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      inFlight--
    }
  }

  return async plant => await new Promise((resolve, reject) => {
    if (pending.push({ plant, resolve, reject }) === 1) setImmediate(flush)
  })
}
