import { plantApi } from '../plan/apis.js'

/** The only correct answer: its status, and its body or a pattern of it. */
export interface Expected { status: number, body: string | RegExp }
/** A complete request, as sent over the wire. */
export interface Shot extends Expected { text: string }

const plants: ReadonlyArray<{ name: string, tag?: string }> = [
  { name: 'Monstera deliciosa', tag: 'Araceae' }, { name: 'Sansevieria trifasciata', tag: 'succulent' },
  { name: 'Calathea orbifolia' }, { name: 'Strelitzia nicolai', tag: 'tree' }
]

/** Creates requests by inserting an id between two prepared strings, so that the generator uses little time. */
export function createRequests (url: string, token: string, api = plantApi): () => Shot {
  const { pathname, host } = new URL(url)
  const head = [
    `POST ${pathname.replace(/\/+$/, '')}${api.path} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json'
  ].join('\r\n')
  const status = api.statuses.created
  const makers = plants.map(plant => {
    const body = JSON.stringify(plant)
    const before = `${head}\r\nContent-Length: ${22 + body.length}\r\n\r\n{"id":`
    const after = `,${body.slice(1)}`
    const [answer = '', answerAfterId] = api.created(plant).split('ID')
    return (id: string): Shot => ({
      text: before + id + after, status, body: answerAfterId === undefined ? answer : answer + id + answerAfterId
    })
  })
  const nextId = growingIds()
  let turn = 0
  return () => {
    const make = makers[turn++ % makers.length] as (id: string) => Shot
    return make(nextId())
  }
}

/** Ids have 16 digits, which any JSON parser reads exactly. They start at the current time: runs do not repeat them. */
export function growingIds (): () => string {
  let id = 1e15 + (Date.now() % 1e10) * 1e5 + Math.floor(Math.random() * 1e5)
  return () => String(id++)
}

/** @throws {Error} unless the answer is the expected one */
export function checkAnswer (expected: Expected, status: number, body: string): void {
  const isRight = typeof expected.body === 'string' ? body === expected.body : expected.body.test(body)
  if (status === expected.status && isRight) return
  const wanted = `${expected.status} with ${String(expected.body)}`
  throw new Error(`status ${status} with the body ${body.slice(0, 300)}; expected ${wanted}`)
}
