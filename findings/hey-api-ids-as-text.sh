#!/usr/bin/env bash
# A TypeScript client of @hey-api/openapi-ts with its bigint transformers, which sends and reads an int64.
# Guess: with a type of bigint, the request and the response have the digits, as JSON numbers.
# Seen: the type is bigint. The request has the id as text, which a server refuses that validates an integer;
# the response is rounded by JSON.parse, and then made a bigint.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install @hey-api/openapi-ts@0.99.0 typescript@5.9.3 esbuild@0.28.2
cp "$(dirname "$0")/helpers/plants-openapi.yaml" "$folder"
cat > "$folder/openapi-ts.config.mjs" <<'JS'
export default {
  input: 'plants-openapi.yaml',
  output: 'client',
  plugins: ['@hey-api/typescript', '@hey-api/transformers', { name: '@hey-api/sdk', transformer: true }]
}
JS
cat > "$folder/use.ts" <<'JS'
import http from 'node:http'
import { createPlant, getPlant } from './client/sdk.gen.ts'

const bodies: string[] = []
const server = http.createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  bodies.push(body)
  response.setHeader('Content-Type', 'application/json')
  response.end('{"id":9007199254740993,"name":"Aloe"}')
})
server.listen(0, '127.0.0.1', async () => {
  const baseUrl = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  await createPlant({ baseUrl, body: { id: 9007199254740993n, name: 'Aloe' } })
  const { data } = await getPlant({ baseUrl, path: { id: 9007199254740993n } })
  console.log(bodies[0])
  console.log(`${typeof data?.id} ${data?.id}`)
  server.close()
})
JS
(cd "$folder" && ./node-24.21.0 node_modules/@hey-api/openapi-ts/bin/run.js >log 2>&1 &&
  node_modules/.bin/esbuild use.ts --bundle --platform=node --format=esm --outfile=use.mjs --log-level=error)
seen=$("$folder/node-24.21.0" "$folder/use.mjs")

compare 'the type of id; expected: bigint' 'id: bigint;' "$(grep -m1 -o 'id: bigint;' "$folder/client/types.gen.ts")"
compare 'the request; expected: {"id":9007199254740993,"name":"Aloe"}' '{"id":"9007199254740993","name":"Aloe"}' "$(sed -n 1p <<<"$seen")"
compare 'the response of 9007199254740993; expected: bigint 9007199254740993' 'bigint 9007199254740992' "$(sed -n 2p <<<"$seen")"
report
