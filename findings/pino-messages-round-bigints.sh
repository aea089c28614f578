#!/usr/bin/env bash
# A bigint logged by pino as a field, and in the message of the same line.
# Guess: both have its digits, or the field throws, as JSON.stringify does.
# Seen: the field has its digits; in the message, %d and %i round it, %s and %o do not.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install pino@10.4.0
cat > "$folder/log.mjs" <<'JS'
import pino from 'pino'
const id = 9007199254740993n
pino({ base: null, timestamp: false }).info({ id }, '%d %i %s %o', id, id, id, id)
JS

compare 'a line; expected: 9007199254740993 everywhere' \
  '{"level":30,"id":9007199254740993,"msg":"9007199254740992 9007199254740992 9007199254740993 9007199254740993"}' \
  "$("$folder/node-24.21.0" "$folder/log.mjs")"
report
