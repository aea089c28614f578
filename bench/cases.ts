import { bigIds, growingIds, randomIds } from './plant-ids.js'
import type { IdOrder, NextId } from './plant-ids.js'

export const caseNames = ['create', 'same', 'invalid', 'no-token', 'mix', 'big-ids', 'long-names'] as const
export type CaseName = typeof caseNames[number]

export interface Expected { status: number, reply: string | RegExp }

/** A whole request as it goes over the wire, and the one answer that is right for it. */
export interface Shot { text: string, expected: Expected }
export type NextShot = () => Shot

export interface Target {
  url: string
  token: string
  /** Answers 200 to the very same plant again: the service does, the obvious servers do not. */
  takesSameAgain: boolean
  /** Its errors carry the codes of CONTRACT.md. */
  hasErrorCodes: boolean
}

interface Template { before: string, after: string, expected: Expected }

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
const longName = 'Taumatawhakatangihangakoauauotamatea Größe '.repeat(100)

export function nextShot (name: CaseName, target: Target, order: IdOrder = 'growing'): NextShot {
  const ids = order === 'random' ? randomIds() : growingIds()
  switch (name) {
    case 'create': return creates(target, ids, plants)
    case 'big-ids': return creates(target, bigIds(), plants)
    case 'long-names': return creates(target, ids, plants.map((plant) => ({ ...plant, name: longName + plant.name })))
    case 'same': return sameAgain(target, ids)
    case 'invalid': return refused(target, invalidBodies, 400, /"error":4000[123]\b/)
    case 'no-token': return refused({ ...target, token: '' }, ['{"id":1,"name":"Aloe"}'], 401, /"error":40101\b/)
    case 'mix': return mix(target, ids)
  }
}

/** Text is joined here, not built by autocannon's setupRequest: that alone kept a core busy at 25,000 requests a second. */
function creates (target: Target, ids: NextId, kinds: typeof plants): NextShot {
  const digits = ids().length
  const templates = kinds.map((plant) => createTemplate(target, digits, plant))
  let turn = 0
  return () => {
    const template = templates[turn++ % templates.length] as Template
    return { text: template.before + ids() + template.after, expected: template.expected }
  }
}

function createTemplate (target: Target, digits: number, plant: { name: string, tag?: string }): Template {
  const after = `,${JSON.stringify(plant).slice(1)}`
  return {
    before: `${head(target, 6 + digits + Buffer.byteLength(after))}{"id":`,
    after,
    expected: { status: 200, reply: JSON.stringify(plant) }
  }
}

/** The first pass over these plants stores them, while warming up; all later passes send them again. */
function sameAgain (target: Target, ids: NextId): NextShot {
  return cycle(Array.from({ length: 512 }, creates(target, ids, plants)))
}

const invalidBodies = [
  '{"id":12}',
  '{"id":"twelve","name":"Aloe vera"}',
  '{"id":1.5,"name":"Aloe vera","tag":"succulent"}',
  '{"id":12,"name":'
]

function refused (target: Target, bodies: readonly string[], status: number, code: RegExp): NextShot {
  const expected = { status, reply: target.hasErrorCodes ? code : /./s }
  return cycle(bodies.map((body) => ({ text: head(target, Buffer.byteLength(body)) + body, expected })))
}

/** Of 20: 17 creates, and one each of the same again, invalid, no token. */
function mix (target: Target, ids: NextId): NextShot {
  const create = creates(target, ids, plants)
  const others = new Map([
    [4, target.takesSameAgain ? sameAgain(target, ids) : create],
    [10, nextShot('invalid', target)],
    [16, nextShot('no-token', target)]
  ])
  let turn = 0
  return () => (others.get(turn++ % 20) ?? create)()
}

function cycle (shots: readonly Shot[]): NextShot {
  let turn = 0
  return () => shots[turn++ % shots.length] as Shot
}

function head (target: Target, length: number): string {
  const url = new URL(target.url)
  return [
    `POST ${url.pathname.replace(/\/+$/, '')}/plants HTTP/1.1`,
    `Host: ${url.host}`,
    ...(target.token === '' ? [] : [`Authorization: Bearer ${target.token}`]),
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    'Connection: keep-alive'
  ].join('\r\n') + '\r\n\r\n'
}
