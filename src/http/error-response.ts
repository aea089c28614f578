import type { ApiError } from './errors.js'

/** Seconds until a client may retry a plant that is not stored. */
const RETRY_AFTER = '1'

/** The headers of every non-2xx response. */
export function errorHeaders ({ kind }: ApiError, requestId: string): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': requestId,
    ...(kind === 'notStored' && { 'retry-after': RETRY_AFTER })
  }
}
