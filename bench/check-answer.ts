import { isDeepStrictEqual } from 'node:util'
import type { Expected } from './cases.js'

export class UnexpectedAnswer extends Error {
  override name = 'UnexpectedAnswer'
}

/** Throws unless the answer is the right one. The order of a body's fields is free; comparing the text first is only quick. */
export function checkAnswer (expected: Expected, status: number, body: string): void {
  if (status !== expected.status) {
    throw new UnexpectedAnswer(`status ${status} where ${expected.status} was expected: ${body.slice(0, 300)}`)
  }
  const right = typeof expected.reply === 'string'
    ? body === expected.reply || sameJson(body, expected.reply)
    : expected.reply.test(body)
  if (!right) {
    throw new UnexpectedAnswer(`status ${status} as expected, with the wrong body: ${body.slice(0, 300)}, expected ${String(expected.reply).slice(0, 300)}`)
  }
}

function sameJson (text: string, other: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), JSON.parse(other))
  } catch {
    return false
  }
}
