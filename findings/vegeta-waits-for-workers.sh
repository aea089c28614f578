#!/usr/bin/env bash
# vegeta at 20 requests a second for 3 s, against a server that needs 200 ms for each, with as many workers as wanted, and with one.
# Guess: vegeta is an open loop, so one worker makes a queue, whose waiting is part of the latency.
# Seen: with -max-workers the rate sinks, and the latency stays what the server needs: what waited is not sent, and not measured.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

GOBIN=$folder go install github.com/tsenart/vegeta/v12@v12.13.0 2>/dev/null || cannot_install vegeta
echo "versions: vegeta v12.13.0, $(go version | cut -d' ' -f3)"
port=$(free_port)
start "$folder/log" node "$(dirname "$0")/helpers/delayed-server.mjs" "$port"
wait_for_port "$port"

# shellcheck disable=SC2016 # JavaScript in quotes
attack () {
  echo "GET http://127.0.0.1:$port/?delay=200" | "$folder/vegeta" attack -rate 20 -duration 3s "$@" |
    "$folder/vegeta" report -type json |
    node -e 'const { requests, latencies, success } = JSON.parse(require("fs").readFileSync(0))
      const slow = latencies["99th"] >= 1e9 ? "above 1 s" : "below 1 s"
      const sent = requests < 30 ? "fewer than 30" : String(requests)
      console.log(`${sent} requests, p99 ${slow}, success ${success * 100} %`)'
}

compare 'without a limit of workers; expected: 60 requests' '60 requests, p99 below 1 s, success 100 %' "$(attack)"
compare 'with one worker; expected: 60 requests, p99 above 1 s' 'fewer than 30 requests, p99 below 1 s, success 100 %' \
  "$(attack -max-workers 1)"
report
