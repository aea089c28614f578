#!/usr/bin/env bash
# The table that openapi-generator's ktorm-schema makes of an object with an int64 id, created by SQLite, which has AUTOINCREMENT.
# Guess: SQLite takes it, since its types are only names.
# Seen: the id is "long … PRIMARY KEY AUTOINCREMENT", and SQLite has AUTOINCREMENT for INTEGER alone, by name.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

pypi_install openapi-generator-cli==7.26.0 apsw==3.54.1.0
java -XX:TieredStopAtLevel=1 -jar "$folder"/python/lib/python3*/site-packages/openapi_generator_cli/openapi-generator.jar \
  generate -g ktorm-schema -i "$(dirname "$0")/helpers/plants-openapi.yaml" -o "$folder/ktorm" >"$folder/log" 2>&1

# shellcheck disable=SC2016 # quotes of SQL
compare 'the column; expected: INTEGER' '`id` long NOT NULL PRIMARY KEY AUTOINCREMENT,' \
  "$(grep -m1 -o '`id` .*' "$folder/ktorm/ktorm_schema.sql")"
cat > "$folder/create.py" <<'PY'
import sys, apsw
try:
    apsw.Connection(':memory:').execute(open(sys.argv[1]).read()).fetchall()
    print('created')
except apsw.SQLError as error:
    print(error)
PY
compare 'created by SQLite; expected: created' 'AUTOINCREMENT is only allowed on an INTEGER PRIMARY KEY' \
  "$("$folder/python/bin/python" "$folder/create.py" "$folder/ktorm/ktorm_schema.sql")"
report
