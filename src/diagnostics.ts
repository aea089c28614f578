import { batchChannels } from './stores/batching/batch-channels.js'
import type { CreateOutcome } from './stores/store.js'
import { typedChannel } from './typed-channel.js'

/**
 * The diagnostics channels, named `plant-store:queue`, `plant-store:create:start` and so on. A channel without
 * subscribers costs nothing. A create request and a batch are each published twice, as one object: on `…:start` when
 * the work starts, and on `…:end`, with the results, when it is complete.
 */
export const channels = {
  queue: typedChannel<QueueMessage>('queue'),
  createStart: typedChannel<CreateMessage>('create:start'),
  createEnd: typedChannel<CreateMessage>('create:end'),
  ...batchChannels
} as const

/** Published once for each registration of the plugin; its counts are current whenever they are read. */
export interface QueueMessage {
  /** Create requests from the first byte of the body to the response, and until the store has settled the plant. */
  readonly pending: number
  /** Bytes of their bodies. */
  readonly bytes: number
}

/**
 * A create request that is handed to the store; one that is refused before, for example because too much is pending, is
 * not published. It is published in the async context of its request.
 */
export interface CreateMessage {
  /** Create requests pending in this registration of the plugin, this one included. */
  pending: number
  /** Bytes of their bodies. */
  queueBytes: number
  /** Undefined at the start. `failed` is a fault of the store. */
  outcome: CreateOutcome | 'not_stored' | 'unknown' | 'failed' | undefined
}
