import { codeOf, messageOf } from '../../src/error-message.js'
import type { Contender } from '../plan/contenders.js'
import { checkAnswer, growingIds, type Expected } from '../load/requests.js'

interface Probe extends Expected { send: string, token: string }

/**
 * Checks the responses of a server before it is measured, those of plant-store most thoroughly.
 * @returns the number of plants that the server has stored
 * @throws {Error} at the first wrong response
 */
export async function checkAnswers ({ label, ...contender }: Contender, url: string, token: string): Promise<number> {
  const all = probes(contender, token)
  for (const { send, token, ...expected } of all) {
    const response = await post(url, send, token)
    try {
      checkAnswer(expected, response.status, await response.text())
    } catch (error) {
      throw new Error(`${label} responds incorrectly: to ${send} with ${messageOf(error)}`)
    }
  }
  return contender.store === 'none' ? 0 : all.filter(({ status }) => status === 200).length
}

async function post (url: string, body: string, token: string): Promise<Response> {
  try {
    return await fetch(`${url.replace(/\/$/, '')}/plants`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body,
      signal: AbortSignal.timeout(10_000)
    })
  } catch (error) {
    const { protocol, hostname, port } = new URL(url)
    const at = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
    // fetch itself says only "fetch failed".
    const cause = error instanceof Error ? error.cause ?? error : error
    if (codeOf(cause) === 'ECONNREFUSED') {
      throw new Error(`nobody listens on ${at}: start the service there, or correct the address`)
    }
    throw new Error(`no response from ${at}: ${messageOf(cause)}`)
  }
}

function probes ({ isOurs, store, checks }: Omit<Contender, 'label'>, token: string): Probe[] {
  const nextId = growingIds()
  // JSON.parse rounds the two long ids to the same number.
  const long = `90${nextId()}`
  const ids = isOurs ? [nextId(), `${long}0`, `${long}1`] : [nextId()]
  const created = ids.map((id): Probe =>
    ({ send: `{"id":${id},"name":"Größe \\"Ж\\" 🌱"}`, status: 200, body: /^{"name":"Größe \\"Ж\\" 🌱"}$/, token }))
  const refused = (send: string, status: number, code: RegExp, used = token): Probe =>
    ({ send, status, body: isOurs ? code : /./s, token: used })

  const taken = created.map(({ send }) => refused(send.replace('"name":"', '$&x'), 400, /"error":40004\b/))
  const invalid = [
    '{"id":1}', '{"name":"Aloe"}', '{"id":"one","name":"Aloe"}', '{"id":1.5,"name":"Aloe"}', '{"id":1,', '[]'
  ]
  const unknownToken = refused('{"id":1,"name":"Aloe"}', 401, /"error":40102\b/, 'a-token-that-nobody-has')
  return [
    ...created,
    ...(isOurs || store !== 'none' ? taken : []),
    ...(checks === 'nothing' ? [] : invalid.map(body => refused(body, 400, /"error":4000[23]\b/))),
    ...(checks === 'token' ? [unknownToken] : [])
  ]
}
