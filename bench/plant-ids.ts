export type IdOrder = 'growing' | 'random'
export type NextId = () => string

/*
 * All ids of one kind have the same number of digits, so that a request's Content-Length is known beforehand, and no
 * two runs meet the same id, because the clock or chance takes part: the service under --url keeps what it was sent.
 */

export function growingIds (now = Date.now()): NextId {
  let id = 1e15 + (now % 1e10) * 1e5
  return () => String(id++)
}

/** For all runs of a process: two that start at 0 could meet. */
let count = 0

/** A random upper half spreads the ids over the whole index; the counted lower half keeps them distinct. */
export function randomIds (): NextId {
  return () => `${1e7 + Math.floor(Math.random() * 8e7)}${String(count++ % 1e8).padStart(8, '0')}`
}

/** 19 digits: beyond 2^53, which JSON.parse rounds, and within int64. */
export function bigIds (): NextId {
  return () => `90${1e7 + Math.floor(Math.random() * 8e7)}${String(count++ % 1e9).padStart(9, '0')}`
}
