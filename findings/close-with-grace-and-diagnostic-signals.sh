#!/usr/bin/env bash
# A process with close-with-grace that is asked by SIGUSR2 for Node's diagnostic report, or for a heap snapshot.
# Guess: Node writes the file, and the process goes on, as it does without close-with-grace.
# Seen: Node writes the file, and close-with-grace closes the process, with exit code 0, after which systemd's
# Restart=on-failure does not start it again.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install close-with-grace@2.5.0
cat > "$folder/service.mjs" <<'JS'
import closeWithGrace from 'close-with-grace'
const [, , kind] = process.argv
if (kind !== 'without') {
  closeWithGrace(kind === 'skip' ? { skip: ['SIGUSR2'] } : {}, async () => {})
}
setInterval(() => {}, 1000)
console.log('started')
JS

# ask KIND NODE_OPTION: what one SIGUSR2 does
ask () {
  local pid code='still runs' tries files
  rm -rf "${folder:?}/run"
  mkdir "$folder/run"
  cd "$folder/run"
  "$folder/node-24.21.0" "$2" "$folder/service.mjs" "$1" >log 2>&1 &
  pid=$!
  until grep -q started log; do sleep 0.1; done
  kill -USR2 "$pid"
  for ((tries = 0; tries < 100; tries++)); do
    files=$(find . -name '*.json' -o -name '*.heapsnapshot' | wc -l)
    [ "$files" = 0 ] || break
    sleep 0.1
  done
  for ((tries = 0; tries < 30; tries++)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  if kill -0 "$pid" 2>/dev/null; then
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
  else
    code=0
    wait "$pid" || code=$?
    code="exit code $code"
  fi
  echo "$files file, $code"
}

for option in --report-on-signal --heapsnapshot-signal=SIGUSR2; do
  compare "$option without close-with-grace" '1 file, still runs' "$(ask without "$option")"
  compare "$option with it; expected: 1 file, still runs" '1 file, exit code 0' "$(ask with "$option")"
  compare "$option with skip: ['SIGUSR2']" '1 file, still runs' "$(ask skip "$option")"
done
report
