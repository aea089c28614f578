#!/usr/bin/env bash
# The zod schemas that @hey-api/openapi-ts makes of two int64 fields: one with the bounds of int64 stated, one without.
# Guess: stated bounds are at least as strict as none.
# Seen: without bounds the schema has those of int64, to the digit. Stated ones become doubles first, so that 2^63 passes.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install @hey-api/openapi-ts@0.99.0 typescript@5.9.3 zod@4.6.7 esbuild@0.28.2
"$folder/node-24.21.0" "$folder/node_modules/@hey-api/openapi-ts/bin/run.js" -i "$(dirname "$0")/helpers/plants-openapi.yaml" \
  -o "$folder/client" --plugins @hey-api/typescript zod >"$folder/log" 2>&1

cat > "$folder/bounds.ts" <<'JS'
import { zPlant } from './client/zod.gen.ts'
const takes = (field: string, value: bigint) => zPlant.shape[field].safeParse(value).success ? 'takes' : 'refuses'
for (const value of [2n ** 63n - 1n, 2n ** 63n, 2n ** 63n + 1n]) {
  console.log(`${value}: parent (no bounds) ${takes('parent', value)}, id (bounds) ${takes('id', value)}`)
}
JS
(cd "$folder" && node_modules/.bin/esbuild bounds.ts --bundle --platform=node --format=esm --outfile=bounds.mjs --log-level=error)
seen=$("$folder/node-24.21.0" "$folder/bounds.mjs")

compare 'the largest int64; expected: both take it' \
  '9223372036854775807: parent (no bounds) takes, id (bounds) takes' "$(sed -n 1p <<<"$seen")"
compare 'one more; expected: both refuse it' \
  '9223372036854775808: parent (no bounds) refuses, id (bounds) takes' "$(sed -n 2p <<<"$seen")"
compare 'two more' '9223372036854775809: parent (no bounds) refuses, id (bounds) refuses' "$(sed -n 3p <<<"$seen")"
report
