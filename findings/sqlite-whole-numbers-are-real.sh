#!/usr/bin/env bash
# A whole number of JavaScript, bound to a parameter of node:sqlite.
# Guess: 5 is bound as an INTEGER, as it is whole; 5 and 5n are one key.
# Seen: every number is bound as a REAL. Only an INTEGER column makes it whole again; TEXT, ANY and expressions do not.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 22.23.3 24.21.0 26.10.0

cat > "$folder/bind.mjs" <<'JS'
import { DatabaseSync } from 'node:sqlite'
const database = new DatabaseSync(':memory:')
database.exec('CREATE TABLE by_text (id TEXT PRIMARY KEY) STRICT; CREATE TABLE by_any (id ANY) STRICT')
const value = sql => String(Object.values(database.prepare(sql).get(5))[0])
for (const id of [5, 5n]) {
  database.prepare('INSERT INTO by_text VALUES (?)').run(id)
}
database.prepare('INSERT INTO by_any VALUES (?)').run(5)
console.log([
  value('SELECT typeof(?)'),
  value('SELECT 8 / ?'),
  value("SELECT json_object('id', ?)"),
  'keys ' + database.prepare('SELECT id FROM by_text ORDER BY id').all().map(row => row.id).join(' and '),
  'ANY ' + database.prepare('SELECT typeof(id) AS type FROM by_any').get().type
].join(', '))
JS

for version in 22.23.3 24.21.0 26.10.0; do
  compare "Node $version binds 5; expected: integer, 1, {\"id\":5}, one key, integer" \
    'real, 1.6, {"id":5.0}, keys 5 and 5.0, ANY real' \
    "$("$folder/node-$version" --no-warnings "$folder/bind.mjs")"
done
report
