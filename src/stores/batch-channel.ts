import { channel } from 'node:diagnostics_channel'

/** Told of each write to a store, once when it starts and once when it has ended; costs nothing where nobody listens. */
export interface BatchMessage {
  plants: number
  /** Undefined at the start. */
  milliseconds: number | undefined
  /** How many of the plants will be sent again. */
  again: number
}

export const batchChannel = 'plant-store:batch'

export const batches = channel(batchChannel)
