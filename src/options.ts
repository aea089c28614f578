import { messageOf } from './error-message.js'
import type { Tokens } from './route/authentication.js'
import { BearerTokens } from './route/bearer-tokens.js'
import type { PlantStore } from './stores/store.js'

/** Options of the plugin, in addition to Fastify's own `prefix` and `logLevel`. */
export interface PlantStoreOptions {
  /**
   * Where plants go: `sqlitePlantStore(…)`, `mongoPlantStore(…)`, `memoryPlantStore()` or a store of your own. The
   * plugin opens a store that is not open yet, and closes it with the host.
   */
  store: PlantStore
  /** Accepted bearer tokens, or a function that decides on each token. */
  tokens: Tokens
  /** Bytes of a request body, 16,000,000 at most. Default: 1,048,576. */
  bodyLimit?: number | undefined
  /**
   * Milliseconds within which a create request gets its response, even if the store does not respond. Default: 10,000.
   */
  storeTimeout?: number | undefined
  /**
   * Maximum number of pending create requests, from the first byte to the response; further requests get 503. Default:
   * 10,000.
   */
  queueLimit?: number | undefined
  /** Maximum bytes of their bodies; a request that would exceed it gets 503. Default: 67,108,864. */
  queueBytes?: number | undefined
}

/**
 * Defaults and bounds of the limits. A MongoDB document has at most 16 MiB, and a plant may take nearly all of the
 * body.
 */
export const limits = {
  bodyLimit: { default: 1_048_576, minimum: 1, maximum: 16_000_000 },
  storeTimeout: { default: 10_000, minimum: 500, maximum: 3_600_000 },
  queueLimit: { default: 10_000, minimum: 1, maximum: 1_000_000 },
  queueBytes: { default: 67_108_864, minimum: 1, maximum: 1_099_511_627_776 }
} as const

/**
 * Checks the options and fills in the defaults.
 * @throws {TypeError} that names the option, its fault and what is allowed, never a token
 */
export function checkOptions (options: PlantStoreOptions) {
  const { store, tokens } = options
  if (typeof store?.create !== 'function') {
    throw new TypeError('plant-store: the option store must be a PlantStore, for example sqlitePlantStore({ path: \'plants.db\' })')
  }
  return {
    store,
    tokens: checkTokens(tokens),
    bodyLimit: checkLimit(options, 'bodyLimit'),
    storeTimeout: checkLimit(options, 'storeTimeout'),
    queueLimit: checkLimit(options, 'queueLimit'),
    queueBytes: checkLimit(options, 'queueBytes')
  }
}

function checkTokens (tokens: Tokens): BearerTokens | Extract<Tokens, Function> {
  if (typeof tokens === 'function' || tokens instanceof BearerTokens) return tokens
  if (typeof tokens === 'string' || typeof tokens?.[Symbol.iterator] !== 'function') {
    throw new TypeError('plant-store: the option tokens must be a list of access tokens, such as [\'an-access-token-of-yours\'], or a function (token, request) => boolean')
  }
  try {
    return new BearerTokens(tokens)
  } catch (error) {
    throw new TypeError(`plant-store: the option tokens: ${messageOf(error)}`)
  }
}

function checkLimit (options: PlantStoreOptions, name: keyof typeof limits): number {
  const { default: defaultValue, minimum, maximum } = limits[name]
  const value = options[name] ?? defaultValue
  if (!Number.isInteger(value) || value < minimum || value > maximum) {
    throw new TypeError(`plant-store: the option ${name} must be an integer from ${minimum} to ${maximum}`)
  }
  return value
}
