#!/usr/bin/env bash
# @fastify/circuit-breaker with a timeout of 200 ms, on a POST route with its own parser whose handler needs 1 s.
# Guess: the 503 comes after 200 ms, while the handler goes on, and each such failure counts once.
# Seen: the 503 comes when the handler has ended, and takes the place of its 200. It counts twice: a threshold of 4 is
# reached after two.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install fastify@5.12.8 @fastify/circuit-breaker@4.0.3
cat > "$folder/app.mjs" <<'JS'
import { setTimeout as wait } from 'node:timers/promises'
import circuitBreaker from '@fastify/circuit-breaker'
import fastify from 'fastify'

let stored = 0
const app = fastify({ forceCloseConnections: true })
app.register(circuitBreaker, { timeout: 200, threshold: 4, resetTimeout: 3000 })
app.register(async scope => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, JSON.parse(bytes)))
  scope.post('/plants', { preHandler: app.circuitBreaker() }, async request => {
    await wait(request.body.slow ? 1000 : 0)
    stored++
    return { name: request.body.name }
  })
})
await app.listen({ host: '127.0.0.1', port: 0 })
for (const slow of [true, true, false]) {
  const response = await fetch(`http://127.0.0.1:${app.server.address().port}/plants`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ name: 'Aloe', slow })
  })
  const { message } = await response.json()
  console.log(`${response.status} ${message}, ${stored} stored by then`)
}
await app.close()
JS
seen=$("$folder/node-24.21.0" "$folder/app.mjs")

compare 'a slow create; expected: 503 Timeout, 0 stored by then' '503 Timeout, 1 stored by then' "$(sed -n 1p <<<"$seen")"
compare 'a second one; expected: 503 Timeout' '503 Timeout, 2 stored by then' "$(sed -n 2p <<<"$seen")"
compare 'one that is fast, after 2 failures of 4; expected: 200' '503 Circuit open, 2 stored by then' "$(sed -n 3p <<<"$seen")"
report
