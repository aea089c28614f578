import { version } from '../../config/version.js'

/**
 * Formats the startup banner: the address, the store, and a command to paste that creates a plant.
 * @param madeToken the token made for this run; undefined if the operator configured tokens, which are never shown
 */
export function startupBanner (address: string, store: string, madeToken: string | undefined, docs: boolean): string {
  const [option, url] = address.startsWith('unix:') ? [`--unix-socket '${address.slice('unix:'.length)}' `, 'http://localhost'] : ['', address]
  const lines = [
    `plant-store ${version}`,
    `  listens at  ${address}`,
    `  stores in   ${store}`,
    `  API         ${url}/${docs ? 'docs' : 'openapi.json'}`
  ]
  if (madeToken !== undefined) lines.push(`  token       ${madeToken} (made for this run; set ACCESS_TOKENS to choose your own)`)
  return `
${lines.join('\n')}

Create a plant:

  curl -sS ${option}${url}/plants -H 'Authorization: Bearer ${madeToken ?? '<ACCESS_TOKEN>'}' -H 'Content-Type: application/json' -d '{"id":1,"name":"Monstera deliciosa","tag":"aroid"}'

`
}
