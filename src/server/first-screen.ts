import { version } from './version.js'

/** What a new user has to know at one look. */
export interface FirstScreen {
  address: string
  /** Where plants go, without credentials. */
  store: string
  /** The token that was made for this run; undefined where the operator set some, which are never shown. */
  madeToken: string | undefined
  /** Whether there is an API page. */
  docs: boolean
}

/** The first screen: where the service listens, which store it has, and a line to paste that creates a plant. */
export function firstScreen ({ address, store, madeToken, docs }: FirstScreen): string {
  const lines = [
    `plant-store ${version}`,
    `  listens at  ${address}`,
    `  stores in   ${store}`,
    `  API         ${address}/${docs ? 'docs' : 'openapi.json'}`
  ]
  if (madeToken !== undefined) lines.push(`  token       ${madeToken} (made for this run; set ACCESS_TOKENS to choose your own)`)
  return `
${lines.join('\n')}

Create a plant:

  curl -sS ${address}/plants -H 'Authorization: Bearer ${madeToken ?? '<ACCESS_TOKEN>'}' -H 'Content-Type: application/json' -d '{"id":1,"name":"Monstera deliciosa","tag":"aroid"}'

`
}
