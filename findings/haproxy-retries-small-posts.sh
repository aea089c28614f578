#!/usr/bin/env bash
# HAProxy with "retry-on 503", before a server whose first answer is 503.
# Guess: a POST is never sent again, since it is not idempotent.
# Seen: it is, if the request fits into a buffer of HAProxy (16 KiB). So whether a 503 is retried depends on the body's size.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

debian_install haproxy=2.6.12-1+deb12u4 liblua5.3-0=5.3.6-2 libopentracing-c-wrapper0=1.1.3-3+b1 libopentracing1=1.6.0-4
cp "$(dirname "$0")/helpers/raw-requests.mjs" "$folder"
proxy_port=$(free_port)
server_port=$(free_port)
cat > "$folder/haproxy.cfg" <<CFG
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen plants
  bind 127.0.0.1:$proxy_port
  retry-on 503
  retries 2
  server one 127.0.0.1:$server_port
CFG
cat > "$folder/sizes.mjs" <<'JS'
import http from 'node:http'
import { post, send } from './raw-requests.mjs'

const [, , proxyPort, serverPort] = process.argv.map(Number)
let seen = 0
const server = http.createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    response.statusCode = ++seen === 1 ? 503 : 200
    response.end()
  })
})
server.listen(serverPort, '127.0.0.1', async () => {
  for (const size of [1000, 12_000, 17_000]) {
    seen = 0
    const status = await send(proxyPort, [post(size)])
    console.log(`${size} bytes: ${status}, sent ${seen} times`)
  }
  server.closeAllConnections()
  server.close()
})
JS
start "$folder/log" "$folder/debian/usr/sbin/haproxy" -f "$folder/haproxy.cfg" -db
wait_for_port "$proxy_port"
seen=$(node "$folder/sizes.mjs" "$proxy_port" "$server_port")

compare 'a small body; expected: 503, sent once' '1000 bytes: HTTP/1.1 200 OK, sent 2 times' "$(sed -n 1p <<<"$seen")"
compare 'a larger one; expected: 503, sent once' '12000 bytes: HTTP/1.1 200 OK, sent 2 times' "$(sed -n 2p <<<"$seen")"
compare 'one above 16 KiB; expected: 503, sent once' '17000 bytes: HTTP/1.1 503 Service Unavailable, sent 1 times' "$(sed -n 3p <<<"$seen")"
report
