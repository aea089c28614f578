import { checkAnswer } from './check-answer.js'
import type { CaseName } from './cases.js'
import type { Contender } from './contenders.js'
import { bigIds, growingIds } from './plant-ids.js'

interface Probe { body: string, status: number, reply: string | RegExp, token?: string | undefined }

/** Shows a server to be right, in all that it can do, before it is worth measuring. Resolves to the number of plants it has stored. */
export async function prove (contender: Contender, url: string, token: string): Promise<number> {
  for (const probe of probes(contender, token)) {
    const response = await fetch(`${url.replace(/\/$/, '')}/plants`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(probe.token === undefined ? {} : { authorization: `Bearer ${probe.token}` })
      },
      body: probe.body,
      signal: AbortSignal.timeout(10_000)
    })
    try {
      checkAnswer(probe, response.status, await response.text())
    } catch (error) {
      throw new Error(`${contender.label} is not right, asked ${probe.body} it answered: ${(error as Error).message}`)
    }
  }
  return contender.store === 'none' ? 0 : contender.isOurs ? 4 : 2
}

function probes (contender: Contender, token: string): Probe[] {
  const { isOurs, store, name, cannot } = contender
  const next = growingIds()
  const can = (one: CaseName): boolean => cannot[one] === undefined
  const plant = (id: string, name: string, tag?: string): string =>
    `{"id":${id},"name":${JSON.stringify(name)}${tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`}}`
  const code = (codes: string): RegExp => isOurs ? new RegExp(`"error":(${codes})\\b`) : /./s
  const remembers = store !== 'none' || name === 'url'

  const id = next()
  const list: Probe[] = [
    { body: plant(id, 'Größe "Ж" 🌱', 'Araceae'), status: 200, reply: '{"name":"Größe \\"Ж\\" 🌱","tag":"Araceae"}', token },
    { body: plant(next(), 'Aloe'), status: 200, reply: '{"name":"Aloe"}', token }
  ]
  if (remembers) list.push({ body: plant(id, 'Ficus'), status: 400, reply: code('40004'), token })
  if (can('same')) list.push({ ...list[0] as Probe })
  if (can('big-ids') && isOurs) {
    // Two neighbours that JSON.parse takes for one, under different names.
    const big = BigInt(bigIds()())
    list.push(
      { body: plant(String(big), 'Even'), status: 200, reply: '{"name":"Even"}', token },
      { body: plant(String(big + 1n), 'Odd'), status: 200, reply: '{"name":"Odd"}', token }
    )
    if (remembers) list.push({ body: plant(String(big + 1n), 'Even'), status: 400, reply: code('40004'), token })
  }
  if (can('invalid')) {
    for (const body of ['{"id":1}', '{"name":"Aloe"}', '{"id":"one","name":"Aloe"}', '{"id":1.5,"name":"Aloe"}', '{"id":1,', '[]']) {
      list.push({ body, status: 400, reply: code('40002|40003'), token })
    }
  }
  if (can('no-token')) {
    list.push(
      { body: plant(next(), 'Aloe'), status: 401, reply: code('40101') },
      { body: plant(next(), 'Aloe'), status: 401, reply: code('40102'), token: 'a-token-nobody-ever-gave' }
    )
  }
  return list
}
