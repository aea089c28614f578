import { version, type Configuration } from './configuration/configuration.js'
import { describeStore } from './configured-store.js'

/**
 * What is printed for people when the service listens: how to send it a request.
 * @param address a URL, or `unix:` and the path of a socket
 * @param token the token generated for this run; those that the operator configured are never shown
 */
export function firstScreen (address: string, configuration: Configuration, token: string | undefined): string {
  const { tls, DOCS } = configuration
  const socketPath = address.startsWith('unix:') ? address.slice('unix:'.length) : undefined
  const lines = [`plant-store ${version}`, `  listens at  ${address}`, `  stores in   ${describeStore(configuration)}`]
  // Nobody serves a URL of the page over a socket.
  if (socketPath === undefined) lines.push(`  API         ${address}/${DOCS ? 'docs' : 'openapi.json'}`)
  if (token !== undefined) lines.push(`  token       ${token} (made for this run; set ACCESS_TOKENS to choose your own)`)

  const scheme = tls === undefined ? 'http' : 'https'
  const url = socketPath === undefined ? address : `${scheme}://localhost`
  const option = socketPath === undefined ? '' : `--unix-socket '${socketPath.replaceAll("'", "'\\''")}' `
  // With -w, the prompt of the shell begins a line of its own.
  return `
${lines.join('\n')}

Create a plant:

  curl -sS -w '\\n' ${option}${url}/plants -H 'Authorization: Bearer ${token ?? '<ACCESS_TOKEN>'}' -H 'Content-Type: application/json' -d '{"id":1,"name":"Monstera deliciosa","tag":"aroid"}'

`
}
