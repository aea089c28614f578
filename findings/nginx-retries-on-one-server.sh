#!/usr/bin/env bash
# nginx with a single upstream server, which closes a kept connection when the next POST comes, as Node does after
# keepAliveTimeout when both happen at once.
# Guess: there is no next server, so "proxy_next_upstream … non_idempotent" cannot help: 502.
# Seen: a failed kept connection does not count as a try, so the POST is sent again to the same server. By default it is a 502.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"
# shellcheck source=helpers/nginx.bash
. "$(dirname "$0")/helpers/nginx.bash"

debian_install nginx=1.22.1-9+deb12u11 nginx-common=1.22.1-9+deb12u11
cp "$(dirname "$0")/helpers/raw-requests.mjs" "$folder"
cat > "$folder/kept.mjs" <<'JS'
import { post, send, startServer } from './raw-requests.mjs'
const [, , proxyPort, serverPort] = process.argv.map(Number)
const server = await startServer((response, number, request) => {
  if (number === 2) request.socket.destroy()
  else response.end('ok')
}, serverPort)
const statuses = []
for (let count = 0; count < 3; count++) statuses.push(await send(proxyPort, [post(100)]))
console.log(`${statuses.map(status => status.slice(9, 12)).join(' ')}, the server got ${server.requests()}`)
server.close()
JS

proxied='proxy_pass http://plants; proxy_http_version 1.1; proxy_set_header Connection "";'
try () {
  local port server_port
  port=$(free_port)
  server_port=$(free_port)
  start_nginx "$port" "location / { $proxied $1 }" "upstream plants { server 127.0.0.1:$server_port; keepalive 4; }"
  node "$folder/kept.mjs" "$port" "$server_port"
}

compare 'by default' '200 502 200, the server got 3' "$(try '')"
compare 'with non_idempotent; expected: 200 502 200, as there is one server' '200 200 200, the server got 4' \
  "$(try 'proxy_next_upstream error timeout non_idempotent;')"
report
