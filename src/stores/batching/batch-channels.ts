import { typedChannel } from '../../typed-channel.js'

/** One write of many plants to a store. */
export interface BatchMessage {
  plants: number
  /** Undefined at the start. */
  milliseconds: number | undefined
  /** How many of the plants will be written again because this write failed. */
  retries: number
}

/** Each batch is published on both, as one object. */
export const batchChannels = {
  batchStart: typedChannel<BatchMessage>('batch:start'),
  batchEnd: typedChannel<BatchMessage>('batch:end')
} as const
