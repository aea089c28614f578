import type { CreateError, StoreWriter, WriteResult } from '../../src/stores/batching/store-writer.js'
import type { NewPlant } from '../../src/stores/plant-store.js'
import type { SimulatedStore } from './simulated-store.js'

/** A writer that throws or rejects, as it should not, when a fault of the story says so. */
export class RejectingWriter implements StoreWriter {
  readonly maxInFlight: number

  constructor (private readonly writer: StoreWriter, private readonly simulated: SimulatedStore) {
    this.maxInFlight = writer.maxInFlight
  }

  write (
    plants: readonly NewPlant[], deadline: number, earliestDeadline: number
  ): Promise<readonly WriteResult[] | CreateError> {
    const fault = this.simulated.takeFault('writer')
    if (fault?.kind !== 'rejects') return this.writer.write(plants, deadline, earliestDeadline)
    this.simulated.isUncertain = true
    const ends = this.simulated.faultBegins()
    this.simulated.log?.(`the writer ${fault.writes ? 'writes, and rejects' : 'throws'}`)
    if (fault.writes) {
      return this.writer.write(plants, deadline, earliestDeadline).finally(() => {
        ends()
        throw new Error('rejected')
      })
    }
    ends()
    throw new Error('thrown')
  }

  check (thoroughly: boolean): Promise<void> {
    return this.writer.check(thoroughly)
  }

  close (): Promise<void> {
    return this.writer.close()
  }
}
