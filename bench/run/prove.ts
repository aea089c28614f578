import { messageOf } from '../../src/error-message.js'
import type { Contender } from '../contenders.js'
import { checkAnswer, growingIds, type Expected } from '../load/requests.js'

interface Probe extends Expected { send: string, token?: string }

/**
 * Checks the responses of a server before it is measured, those of plant-store most thoroughly.
 * @returns the number of plants that the server has stored
 * @throws {Error} at the first wrong response
 */
export async function prove (contender: Contender, url: string, token: string): Promise<number> {
  const all = probes(contender, token)
  for (const { send, token, ...expected } of all) {
    const headers = { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
    const response = await fetch(`${url.replace(/\/$/, '')}/plants`, { method: 'POST', headers, body: send, signal: AbortSignal.timeout(10_000) })
    try {
      checkAnswer(expected, response.status, await response.text())
    } catch (error) {
      throw new Error(`${contender.label} responds incorrectly: to ${send} with ${messageOf(error)}`)
    }
  }
  return contender.store === 'none' ? 0 : new Set(all.flatMap(({ send, status }) => status === 200 ? send : [])).size
}

function probes ({ isOurs, store, name }: Contender, token: string): Probe[] {
  const created = (id: string, plant: object): Probe => ({ send: `{"id":${id},${JSON.stringify(plant).slice(1)}`, status: 200, body: JSON.stringify(plant), token })
  const refused = (send: string, status: number, code: RegExp): Probe => ({ send, status, body: isOurs ? code : /./s, token })

  const nextId = growingIds()
  const plants = [created(nextId(), { name: 'Größe "Ж" 🌱', tag: 'Araceae' }), created(nextId(), { name: 'Aloe' })]
  if (name === 'bare') return plants
  // Two ids that JSON.parse rounds to the same number, and a retry of the first two plants.
  const big = `90${nextId()}`
  if (isOurs) plants.push(created(`${big}0`, { name: 'Even' }), created(`${big}1`, { name: 'Odd' }), ...plants)
  const taken = store === 'none' && name !== 'url' ? [] : plants.map(({ send }) => refused(send.replace('"name":"', '$&x'), 400, /"error":40004\b/))
  const invalid = ['{"id":1}', '{"name":"Aloe"}', '{"id":"one","name":"Aloe"}', '{"id":1.5,"name":"Aloe"}', '{"id":1,', '[]'].map(body => refused(body, 400, /"error":4000[23]\b/))
  const { token: _, ...anonymous } = refused('{"id":1,"name":"Aloe"}', 401, /"error":40101\b/)
  return [...plants, ...taken, ...invalid, anonymous, { ...refused(anonymous.send, 401, /"error":40102\b/), token: 'a-token-that-nobody-has' }]
}
