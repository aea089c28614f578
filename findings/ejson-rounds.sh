#!/usr/bin/env bash
# int64 through EJSON, the JSON of MongoDB's tools, by its default options.
# Guess: EJSON is there to keep BSON's types, so a bigint and a Long keep their digits, and {"$numberLong": "…"} is read exactly.
# Seen: the default is "relaxed", which makes a double of both, writing and reading. { relaxed: false } is exact, but for a bare number.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install bson@7.3.4

cat > "$folder/ejson.mjs" <<'JS'
import { EJSON, Long } from 'bson'
const text = '{"id":{"$numberLong":"9007199254740993"}}'
console.log(EJSON.stringify({ id: 9007199254740993n }))
console.log(EJSON.stringify({ id: Long.fromString('9007199254740993') }))
console.log(String(EJSON.parse(text).id))
console.log(String(EJSON.parse(text, { relaxed: false }).id))
console.log(String(EJSON.parse('{"id":9007199254740993}', { relaxed: false, useBigInt64: true }).id))
JS

seen=$(cd "$folder" && node ejson.mjs)
compare 'stringify of 9007199254740993n; expected: {"id":9007199254740993}' '{"id":9007199254740992}' "$(sed -n 1p <<<"$seen")"
compare 'stringify of a Long; expected: {"id":9007199254740993}' '{"id":9007199254740992}' "$(sed -n 2p <<<"$seen")"
compare 'parse of a number as numberLong; expected: 9007199254740993' 9007199254740992 "$(sed -n 3p <<<"$seen")"
compare 'parse of a number as numberLong, not relaxed; expected: 9007199254740993' 9007199254740993 "$(sed -n 4p <<<"$seen")"
compare 'parse of a bare number as a bigint, not relaxed; expected: rounded by JSON.parse' 9007199254740992 "$(sed -n 5p <<<"$seen")"
report
