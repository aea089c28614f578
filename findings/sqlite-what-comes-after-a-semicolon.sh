#!/usr/bin/env bash
# Two statements in one prepared string.
# Guess: prepare() throws, or run() executes both.
# Seen: node:sqlite and @photostructure/sqlite execute the first and drop the second without a word.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install @photostructure/sqlite@2.6.0
node_install 22.23.3 24.21.0 26.10.0

cat > "$folder/two.mjs" <<'JS'
const { DatabaseSync } = await import(process.argv[2])
const database = new DatabaseSync(':memory:')
database.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY)')
const changes = database.prepare('INSERT INTO plants VALUES (1); INSERT INTO plants VALUES (2)').run().changes
const rows = database.prepare('SELECT count(*) AS n FROM plants').get().n
console.log(`${changes} change, ${rows} row`)
JS

for version in 22.23.3 24.21.0 26.10.0; do
  for library in node:sqlite @photostructure/sqlite; do
    compare "$library on Node $version; expected: an error, or two rows" '1 change, 1 row' \
      "$("$folder/node-$version" --no-warnings "$folder/two.mjs" "$library")"
  done
done
report
