#!/usr/bin/env bash
# @fastify/reply-from, which passes a POST on to another server, in a scope whose own parser leaves the body's bytes, or
# makes a bigint of the id.
# Guess: bytes go on as they are, as a Buffer is what the parser returned; a bigint is written with its digits.
# Seen: a Buffer is sent as JSON: {"type":"Buffer","data":[…]}. A bigint is a 500. Fastify's own parser rounds.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install fastify@5.12.8 @fastify/reply-from@12.6.5
cat > "$folder/app.mjs" <<'JS'
import replyFrom from '@fastify/reply-from'
import fastify from 'fastify'

let got
const upstream = fastify()
upstream.removeAllContentTypeParsers()
upstream.addContentTypeParser('*', { parseAs: 'string' }, (_request, text, done) => done(null, text))
upstream.post('/plants', async request => { got = request.body; return {} })
const base = await upstream.listen({ host: '127.0.0.1', port: 0 })

const parsers = {
  "Fastify's": undefined,
  bytes: (_request, bytes, done) => done(null, bytes),
  bigint: (_request, bytes, done) => done(null, { id: BigInt(/\d+/.exec(String(bytes))[0]) })
}
for (const [name, parser] of Object.entries(parsers)) {
  got = 'nothing'
  const app = fastify()
  app.register(replyFrom, { base })
  app.register(async scope => {
    if (parser) {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, parser)
    }
    scope.post('/plants', (_request, reply) => { reply.from('/plants') })
  })
  const response = await app.inject({
    method: 'POST', url: '/plants', headers: { 'content-type': 'application/json' }, payload: '{"id":9007199254740993}'
  })
  console.log(`${name}: ${response.statusCode}, passed on ${got.slice(0, 35)}`)
  await app.close()
}
await upstream.close()
JS
seen=$("$folder/node-24.21.0" "$folder/app.mjs")

compare "Fastify's own parser; expected: rounded" "Fastify's: 200, passed on {\"id\":9007199254740992}" "$(sed -n 1p <<<"$seen")"
compare 'the bytes; expected: {"id":9007199254740993}' 'bytes: 200, passed on {"type":"Buffer","data":[123,34,105' "$(sed -n 2p <<<"$seen")"
compare 'a bigint; expected: {"id":9007199254740993}' 'bigint: 500, passed on nothing' "$(sed -n 3p <<<"$seen")"
report
