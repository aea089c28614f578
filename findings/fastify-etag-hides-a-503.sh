#!/usr/bin/env bash
# @fastify/etag in an app with a POST route that has its own parser, and a client that sends If-None-Match, as an HTTP
# cache does with the tag of the last response.
# Guess: a tag is for 200s of GET and HEAD: a POST, and an error, have none.
# Seen: every response has one, a 503 too. A POST whose response has the client's tag is a 304 without a body, after its
# handler has run; and a second, equal 503 is a 304 as well.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install fastify@5.12.8 @fastify/etag@6.2.0
cat > "$folder/app.mjs" <<'JS'
import fastify from 'fastify'
import etag from '@fastify/etag'

let handled = 0
const app = fastify({ forceCloseConnections: true })
app.register(etag)
app.register(async scope => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, JSON.parse(bytes)))
  scope.post('/plants', async (request, reply) => {
    handled++
    if (request.body.busy) return reply.code(503).header('Retry-After', 1).send({ error: 50301 })
    return { name: request.body.name }
  })
})
await app.listen({ host: '127.0.0.1', port: 0 })
const url = `http://127.0.0.1:${app.server.address().port}/plants`
const post = (plant, headers) => fetch(url, {
  method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(plant)
})
for (const plant of [{ name: 'Aloe' }, { busy: true }]) {
  const first = await post(plant, {})
  const again = await post(plant, { 'If-None-Match': first.headers.get('ETag') ?? '"none"' })
  console.log(`${first.status}, then ${again.status} with ${(await again.text()).length} bytes, handled ${handled}`)
  handled = 0
}
await app.close()
JS
seen=$("$folder/node-24.21.0" "$folder/app.mjs")

compare 'a plant that is stored; expected: 200, then 200' '200, then 304 with 0 bytes, handled 2' "$(sed -n 1p <<<"$seen")"
compare 'a store that is busy; expected: 503, then 503' '503, then 304 with 0 bytes, handled 2' "$(sed -n 2p <<<"$seen")"
report
