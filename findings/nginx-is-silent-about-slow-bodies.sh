#!/usr/bin/env bash
# A client that stops in the middle of its body, behind nginx with "client_body_timeout 1s".
# Guess: nginx answers 408, as its documentation says; and for the headers the same.
# Seen: nothing is sent, the connection is closed. The 408 stands in nginx's own log alone.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"
# shellcheck source=helpers/nginx.bash
. "$(dirname "$0")/helpers/nginx.bash"

debian_install nginx=1.22.1-9+deb12u11 nginx-common=1.22.1-9+deb12u11
cp "$(dirname "$0")/helpers/raw-requests.mjs" "$folder"
port=$(free_port)
server_port=$(free_port)
start "$folder/server.log" node "$(dirname "$0")/helpers/delayed-server.mjs" "$server_port"
wait_for_port "$server_port"
start_nginx "$port" "client_body_timeout 1s; client_header_timeout 1s; access_log $folder/access.log status; location / { proxy_pass http://127.0.0.1:$server_port; }" \
  "log_format status '\$status';"
cat > "$folder/slow.mjs" <<'JS'
import { post, send } from './raw-requests.mjs'
const request = post(100)
const cut = process.argv[3] === 'body' ? -50 : 40
console.log(await send(Number(process.argv[2]), [request.slice(0, cut), request.slice(cut)], 5000))
JS

: > "$folder/access.log"
compare 'half of the body; expected: HTTP/1.1 408 Request Time-out' 'closed without a response' "$(node "$folder/slow.mjs" "$port" body)"
compare 'half of the headers; expected: HTTP/1.1 408 Request Time-out' 'closed without a response' "$(node "$folder/slow.mjs" "$port" headers)"
compare 'the log of nginx' '408 408' "$(tail -n 2 "$folder/access.log" | tr '\n' ' ' | sed 's/ $//')"
report
