import { isDeepStrictEqual } from 'node:util'

/** The one right answer: this JSON, or a text that matches. */
export interface Expected { status: number, body: string | RegExp }
/** A whole request as it goes over the wire. */
export interface Shot extends Expected { text: string }

const plants: ReadonlyArray<{ name: string, tag?: string }> = [
  { name: 'Monstera deliciosa', tag: 'Araceae' },
  { name: 'Ficus lyrata', tag: 'Moraceae' },
  { name: 'Sansevieria trifasciata', tag: 'succulent' },
  { name: 'Calathea orbifolia' },
  { name: 'Zamioculcas zamiifolia', tag: 'Araceae' },
  { name: 'Strelitzia nicolai', tag: 'tree' },
  { name: 'Pilea peperomioides', tag: 'Urticaceae' },
  { name: 'Epipremnum aureum' }
]

/** The parts of create requests around an id of 16 digits, and their replies. */
export function templates (url: string, token: string): Array<{ before: string, after: string, reply: string }> {
  const { pathname, host } = new URL(url)
  const head = `POST ${pathname.replace(/\/+$/, '')}/plants HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`
  return plants.map(plant => {
    const reply = JSON.stringify(plant)
    return { before: `${head}Content-Length: ${22 + reply.length}\r\n\r\n{"id":`, after: `,${reply.slice(1)}`, reply }
  })
}

/** Whole texts, not built by autocannon's `setupRequest`: that takes half of the generator's time. */
export function createRequests (url: string, token: string, areRandom: boolean): () => Shot {
  const all = templates(url, token)
  const nextId = areRandom ? randomIds() : growingIds()
  let turn = 0
  return () => {
    const { before, after, reply } = all[turn++ % all.length] ?? { before: '', after: '', reply: '' }
    return { text: before + nextId() + after, status: 200, body: reply }
  }
}

/**
 * Ids have 16 digits, exact in any JSON parser. No two runs meet the same id: the service at --url keeps what it was
 * sent.
 */
export function growingIds (): () => string {
  let id = 1e15 + (Date.now() % 1e10) * 1e5 + Math.floor(Math.random() * 1e5)
  return () => String(id++)
}

/** Odd, so that none meets one of a store that was filled beforehand. */
export function randomIds (): () => string {
  return () => String(1e15 + 2 * Math.floor(Math.random() * 4e15) + 1)
}

/** @throws {Error} unless the answer is the right one; the order of its fields is free */
export function checkAnswer (expected: Expected, status: number, body: string): void {
  if (status === expected.status && (body === expected.body || isRight(expected.body, body))) return
  throw new Error(`status ${status} with the body ${body.slice(0, 300)}; expected ${expected.status} with ${String(expected.body)}`)
}

function isRight (expected: string | RegExp, body: string): boolean {
  try {
    return typeof expected === 'string' ? isDeepStrictEqual(JSON.parse(body), JSON.parse(expected)) : expected.test(body)
  } catch {
    return false
  }
}
