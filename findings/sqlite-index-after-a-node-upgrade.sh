#!/usr/bin/env bash
# One database file, opened by two versions of Node.
# Guess: a REAL has the same text in every SQLite, so an index on CAST(x AS TEXT) outlives an upgrade of Node.
# Seen: SQLite 3.53 prints 17 digits where 3.51 printed 15, so the rows are no longer where the index looks for them.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

node_install 22.23.3 24.21.0

cat > "$folder/look.mjs" <<'JS'
import { DatabaseSync } from 'node:sqlite'
const [, , file, make] = process.argv
const database = new DatabaseSync(file)
if (make) {
  database.exec(`
    CREATE TABLE measured (height REAL);
    CREATE INDEX height_text ON measured (CAST(height AS TEXT));
    INSERT INTO measured VALUES (0.1 + 0.2), (1.5)`)
}
const text = database.prepare('SELECT CAST(height AS TEXT) AS text FROM measured').get().text
const count = where => database.prepare(`SELECT count(*) AS n FROM measured ${where}`).get().n
console.log([
  text,
  'by the index ' + count('INDEXED BY height_text WHERE CAST(height AS TEXT) = (SELECT CAST(0.1 + 0.2 AS TEXT))'),
  'by the table ' + count('NOT INDEXED WHERE CAST(height AS TEXT) = (SELECT CAST(0.1 + 0.2 AS TEXT))'),
  database.prepare('PRAGMA integrity_check').get().integrity_check
].join(', '))
JS

compare 'Node 22 makes the table and its index; expected: the row is found both ways' \
  '0.3, by the index 1, by the table 1, ok' \
  "$("$folder/node-22.23.3" --no-warnings "$folder/look.mjs" "$folder/plants.db" make)"
compare 'Node 24 opens the same file; expected: the same' \
  '0.30000000000000004, by the index 0, by the table 1, row 1 missing from index height_text' \
  "$("$folder/node-24.21.0" --no-warnings "$folder/look.mjs" "$folder/plants.db")"
report
