#!/usr/bin/env bash
# HAProxy with "timeout http-request 1s", and a client that sends the headers at once and the rest of the body after 3 s.
# Guess: a timeout of the request is one of the whole request: 408.
# Seen: it ends with the headers, so the slow body goes through to the server; with "option http-buffer-request" it is 408.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

debian_install haproxy=2.6.12-1+deb12u4 liblua5.3-0=5.3.6-2 libopentracing-c-wrapper0=1.1.3-3+b1 libopentracing1=1.6.0-4
cp "$(dirname "$0")/helpers/raw-requests.mjs" "$folder"
plain_port=$(free_port)
buffer_port=$(free_port)
server_port=$(free_port)
cat > "$folder/haproxy.cfg" <<CFG
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout http-request 1s
listen plain
  bind 127.0.0.1:$plain_port
  server one 127.0.0.1:$server_port
listen buffer
  bind 127.0.0.1:$buffer_port
  option http-buffer-request
  server one 127.0.0.1:$server_port
CFG
cat > "$folder/slow.mjs" <<'JS'
import { post, send } from './raw-requests.mjs'
const request = post(100)
console.log(await send(Number(process.argv[2]), [request.slice(0, -50), request.slice(-50)], 3000))
JS
start "$folder/server.log" node "$(dirname "$0")/helpers/delayed-server.mjs" "$server_port"
start "$folder/log" "$folder/debian/usr/sbin/haproxy" -f "$folder/haproxy.cfg" -db
wait_for_port "$server_port"
wait_for_port "$buffer_port"

compare 'timeout http-request alone; expected: HTTP/1.1 408 Request Time-out' 'HTTP/1.1 200 OK' "$(node "$folder/slow.mjs" "$plain_port")"
compare 'with option http-buffer-request' 'HTTP/1.1 408 Request Time-out' "$(node "$folder/slow.mjs" "$buffer_port")"
report
