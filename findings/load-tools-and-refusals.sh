#!/usr/bin/env bash
# A server that answers every request with 503, measured by ab and by h2load.
# Guess: ab counts them as "Failed requests"; to h2load, which speaks of protocols, a complete answer has succeeded.
# Seen: just the other way round. ab has 0 failed requests (and a line "Non-2xx responses"), h2load 0 succeeded.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

debian_install apache2-utils=2.4.71-1~deb12u1 libapr1=1.7.2-3+deb12u1 libaprutil1=1.6.3-1+deb12u1 \
  nghttp2-client=1.52.0-1+deb12u3 libev4=1:4.33-1 libjemalloc2=5.3.0-1
port=$(free_port)
start "$folder/log" node "$(dirname "$0")/helpers/delayed-server.mjs" "$port"
wait_for_port "$port"
url="http://127.0.0.1:$port/?status=503"

compare 'ab, 20 requests; expected: Failed requests: 20' 'Failed requests: 0, Non-2xx responses: 20' \
  "$("$folder/debian/usr/bin/ab" -q -n 20 "$url" | awk -F': *' '/^Failed requests|^Non-2xx/ { printf "%s%s: %s", separator, $1, $2; separator = ", " }')"
compare 'h2load over HTTP/1.1, 20 requests; expected: 20 succeeded, 0 failed' '20 done, 0 succeeded, 20 failed' \
  "$("$folder/debian/usr/bin/h2load" --h1 -n 20 -c 1 "$url" | sed -nE 's/^requests:.* ([0-9]+ done, [0-9]+ succeeded, [0-9]+ failed).*/\1/p')"
report
