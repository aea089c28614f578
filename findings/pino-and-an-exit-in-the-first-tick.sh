#!/usr/bin/env bash
# pino with an asynchronous destination (sync: false), 1,000 lines, and process.exit() at the end of the program.
# Guess: pino's exit hook writes what is buffered, as it does later in the life of the process.
# Seen: to a file, not a line is written if the exit comes before the file is open. "sonic boom is not ready yet" is
# thrown in the exit hook, and the exit code is 0 all the same. To standard output, and a moment later, all are there.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install pino@10.4.0
cat > "$folder/log.mjs" <<'JS'
import pino from 'pino'
const [, , file, when] = process.argv
const logger = pino(pino.destination(file === '-' ? { sync: false } : { dest: file, sync: false }))
for (let line = 0; line < 1000; line++) logger.info({ line })
if (when === 'at once') process.exit(0)
else setTimeout(() => process.exit(0), 500)
JS

run () {
  local code=0 lines
  "$folder/node-24.21.0" "$folder/log.mjs" "$1" "$2" >"$folder/out" 2>"$folder/errors" || code=$?
  if [ "$1" = - ]; then
    lines=$(wc -l <"$folder/out")
  else
    lines=$(grep -c . "$1" 2>/dev/null || true)
  fi
  echo "$lines lines, exit code $code, $(grep -o 'sonic boom is not ready yet' "$folder/errors" | head -n 1 || true)"
}

compare 'to a file, exit at once; expected: 1000 lines, or an exit code that tells' \
  '0 lines, exit code 0, sonic boom is not ready yet' "$(run "$folder/a.log" 'at once')"
compare 'to a file, exit after 0.5 s' '1000 lines, exit code 0, ' "$(run "$folder/b.log" later)"
compare 'to standard output, exit at once' '1000 lines, exit code 0, ' "$(run - 'at once')"
report
