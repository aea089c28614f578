#!/usr/bin/env bash
# A row whose id exists already, and which is wrong otherwise, in a STRICT table with ON CONFLICT DO NOTHING.
# Guess: the id is looked at first, so nothing happens, whatever else is wrong.
# Seen: NOT NULL is looked at before the id, a wrong type after it. And OR IGNORE ignores the one, not the other.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 22.23.3 26.10.0

cat > "$folder/insert.mjs" <<'JS'
import { DatabaseSync } from 'node:sqlite'
const database = new DatabaseSync(':memory:')
database.exec("CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT; INSERT INTO plants VALUES (1, 'Aloe')")
function outcome (sql, id, name) {
  try {
    return database.prepare(sql).run(id, name).changes + ' changes'
  } catch (error) {
    return error.message
  }
}
const wrongType = new Uint8Array([65])
const doNothing = 'INSERT INTO plants VALUES (?, ?) ON CONFLICT DO NOTHING'
const orIgnore = 'INSERT OR IGNORE INTO plants VALUES (?, ?)'
console.log([
  outcome(doNothing, 1, null),
  outcome(doNothing, 1, wrongType),
  outcome(orIgnore, 2, null),
  outcome(orIgnore, 2, wrongType)
].join('; '))
JS

for version in 22.23.3 26.10.0; do
  compare "Node $version: a repeated id with DO NOTHING without a name, then with a BLOB as name; a new id with OR IGNORE without a name, then with a BLOB; expected: 0 changes four times" \
    'NOT NULL constraint failed: plants.name; 0 changes; 0 changes; cannot store BLOB value in TEXT column plants.name' \
    "$("$folder/node-$version" --no-warnings "$folder/insert.mjs")"
done
report
