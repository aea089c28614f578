#!/usr/bin/env bash
# autocannon -a 20 -c 4 against a server that answers each request with "Connection: close".
# Guess: it connects anew, and counts 20 answers; or it says how many are missing.
# Seen: it sends 12, counts 12 answers, says that 20 were sent, and has no errors.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install autocannon@9.0.0
port=$(free_port)
start "$folder/log" node "$(dirname "$0")/helpers/delayed-server.mjs" "$port"
wait_for_port "$port"

# shellcheck disable=SC2016 # JavaScript in quotes
cannon () {
  local before
  before=$(count)
  "$folder/node_modules/.bin/autocannon" -n -j -a 20 -c 4 "http://127.0.0.1:$port/$1" 2>/dev/null |
    node -e 'const { requests, errors, timeouts, resets, ...result } = JSON.parse(require("fs").readFileSync(0))
      process.stdout.write(`sent ${requests.sent}, 2xx ${result["2xx"]}, errors ${errors + timeouts + resets}`)'
  echo ", the server answered $(($(count) - before))"
}
count () {
  node -e "fetch('http://127.0.0.1:$port/count').then(response => response.text()).then(console.log)"
}

compare 'kept connections; expected: 20 of each' 'sent 20, 2xx 20, errors 0, the server answered 20' "$(cannon '')"
compare 'closed connections; expected: 20 of each, or errors' 'sent 20, 2xx 12, errors 0, the server answered 12' "$(cannon '?close')"
report
