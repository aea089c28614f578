#!/usr/bin/env bash
# The zod schemas that orval makes of an int64.
# Guess: z.number() with the bounds as doubles, which takes every int64, rounded.
# Seen: zod.int(), which takes safe integers only: it refuses 2^53 and all ids above, whatever bounds are stated.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 24.21.0
npm_install orval@8.38.0 zod@4.6.7 typescript@5.9.3
cp "$(dirname "$0")/helpers/plants-openapi.yaml" "$folder"
cat > "$folder/orval.config.mjs" <<'JS'
export default { plants: { input: 'plants-openapi.yaml', output: { target: 'client.ts', client: 'zod' } } }
JS
(cd "$folder" && ./node-24.21.0 node_modules/.bin/orval >log 2>&1)
cat > "$folder/parse.ts" <<'JS'
import { CreatePlantBody } from './client.ts'
const takes = (id: number) => CreatePlantBody.safeParse({ id, name: 'Aloe' }).success ? 'takes' : 'refuses'
console.log([2 ** 53 - 1, 2 ** 53, 1e18].map(id => `${takes(id)} ${BigInt(id)}`).join(', '))
JS

compare 'its schema; expected: zod.number() with bounds' '"id": zod.int().min(createPlantBodyIdMin).max(createPlantBodyIdMax),' \
  "$(grep -m1 -o '"id": zod.*' "$folder/client.ts")"
compare 'ids below its maximum of 9223372036854776000; expected: takes all three' \
  'takes 9007199254740991, refuses 9007199254740992, refuses 1000000000000000000' \
  "$("$folder/node-24.21.0" --no-warnings "$folder/parse.ts")"
report
