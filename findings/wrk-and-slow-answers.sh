#!/usr/bin/env bash
# wrk against a server that answers each request after 2.5 s, with 200.
# Guess: the latencies are 2.5 s; the answers that are later than wrk's timeout (2 s by default) are counted as timeouts too.
# Seen: an answer that is later than the timeout is in no latency: wrk prints 0.00us for all percentiles.
# A tail above 2 s is cut off in the same way, and only "timeout" in the line of socket errors shows it.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

debian_install wrk=4.1.0-3+b2 libluajit-5.1-2=2.1.0~beta3+git20220320+dfsg-4.1+deb12u1
port=$(free_port)
start "$folder/log" node "$(dirname "$0")/helpers/delayed-server.mjs" "$port"
wait_for_port "$port"

measure () {
  "$folder/debian/usr/bin/wrk" -t1 -c1 -d6s --latency "$@" "http://127.0.0.1:$port/?delay=2500" |
    awk '$1 == "99%" { p99 = $2 } /requests in/ { n = $1 } /Socket errors/ { late = $NF } END { print n " answers, p99 " p99 ", timeouts " late + 0 }'
}
whole_seconds () { sed -E 's/([0-9]+)\.[0-9]+s/\1.x s/'; }

compare 'by default; expected: 2 answers, p99 2.x s, timeouts 2' '2 answers, p99 0.00us, timeouts 2' "$(measure)"
compare 'with --timeout 10s' '2 answers, p99 2.x s, timeouts 0' "$(measure --timeout 10s | whole_seconds)"
report
