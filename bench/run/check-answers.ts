import { codeOf, messageOf } from '../../src/error-message.js'
import { checkAnswer, growingIds, type Expected } from '../load/requests.js'
import type { Contender } from '../plan/contenders.js'

interface Probe extends Expected { send: string, token?: string }

/**
 * Checks the responses of a server before it is measured, those of plant-store most thoroughly.
 * @returns the number of plants that the server has stored
 * @throws {Error} at the first wrong response
 */
export async function checkAnswers (contender: Contender, url: string, token: string): Promise<number> {
  const probes = probesOf(contender)
  for (const probe of probes) {
    const response = await post(url, contender.api.path, probe.send, probe.token ?? token)
    try {
      checkAnswer(probe, response.status, await response.text())
    } catch (error) {
      throw new Error(`${contender.label} responds incorrectly: to ${probe.send} with ${messageOf(error)}`)
    }
  }
  const { created } = contender.api.statuses
  return contender.store === 'none' ? 0 : probes.filter(({ status }) => status === created).length
}

async function post (url: string, path: string, body: string, token: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const signal = AbortSignal.timeout(10_000)
  try {
    return await fetch(`${url.replace(/\/$/, '')}${path}`, { method: 'POST', headers, body, signal })
  } catch (error) {
    // fetch itself says only "fetch failed".
    const cause = error instanceof Error ? error.cause ?? error : error
    const reason = codeOf(cause) === 'ECONNREFUSED' ? 'nobody listens there' : messageOf(cause)
    throw new Error(`no response from ${url}: start the service there, or correct the address (${reason})`)
  }
}

function probesOf ({ isOurs, store, api }: Contender): Probe[] {
  const nextId = growingIds()
  // JSON.parse rounds the two long ids to the same number.
  const long = `90${nextId()}`
  const ids = isOurs ? [nextId(), `${long}0`, `${long}1`] : [nextId()]
  const name = 'Größe "Ж" 🌱'
  const { statuses } = api
  const created = ids.map((id): Probe => ({
    send: `{"id":${id},"name":${JSON.stringify(name)}}`,
    status: statuses.created,
    body: api.created({ name }).replace('ID', id)
  }))
  if (store === 'none' && !isOurs) return created

  const code = (number: RegExp): RegExp => isOurs ? number : /./s
  const taken = ids.map((id): Probe =>
    ({ send: `{"id":${id},"name":"another"}`, status: statuses.taken, body: code(/"error":40004\b/) }))
  const send = '{"id":1,"name":"Aloe"}'
  const token = 'a-token-that-nobody-has'
  const unknown: Probe = { send, token, status: statuses.unknownToken, body: code(/"error":40102\b/) }
  const invalid = api.invalid.map((send): Probe => ({ send, status: 400, body: code(/"error":4000[23]\b/) }))
  return [...created, ...taken, unknown, ...invalid]
}
