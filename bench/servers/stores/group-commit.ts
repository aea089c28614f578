import type { PeerStore, Plant } from './peer-store.js'

/** Writes plants at once, and resolves to whether each of them was new. */
export type Write = (plants: Plant[]) => Promise<boolean[]>

interface Pending { plant: Plant, resolve: (isStored: boolean) => void, reject: (error: unknown) => void }

/** Group commit at its simplest: plants that arrive while as many writes are in flight as may be form the next one. */
export function groupCommit (write: Write, maxInFlight: number): PeerStore {
  let pending: Pending[] = []
  let inFlight = 0

  async function flush (): Promise<void> {
    while (inFlight < maxInFlight && pending.length > 0) {
      const batch = pending
      pending = []
      inFlight++
      try {
        const stored = await write(batch.map(({ plant }) => plant))
        for (const [index, { resolve }] of batch.entries()) resolve(stored[index] === true)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      inFlight--
    }
  }

  return {
    insert: plant => new Promise((resolve, reject) => {
      if (pending.push({ plant, resolve, reject }) === 1) setImmediate(flush)
    })
  }
}
