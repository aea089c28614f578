#!/usr/bin/env bash
# Two collections whose names differ in upper and lower case, on nx-27017.
# Guess: they are two, as in MongoDB.
# Seen: they are one, as the names of SQLite's tables are equal in either case.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install mongodb@7.9.0
pypi_install nx-27017==0.8.1
port=$(free_port)
start "$folder/log" "$folder/python/bin/nx-27017" --data-dir "$folder/data" -p "$port" --log-file "$folder/nx.log"
wait_for_port "$port"

cat > "$folder/case.mjs" <<'JS'
import { MongoClient } from 'mongodb'
const client = new MongoClient(`mongodb://127.0.0.1:${process.argv[2]}/`)
const database = client.db('greenhouse')
const outcomes = []
for (const name of ['plants', 'Plants']) {
  outcomes.push(await database.collection(name).insertOne({ _id: 1, in: name }).then(() => 'stored', error => String(error.code)))
}
const names = (await database.listCollections().toArray()).map(collection => collection.name).sort()
console.log(`${outcomes.join(', ')}; collections: ${names.join(' ')}`)
await client.close()
JS

compare '_id 1 into plants, then into Plants; expected: stored, stored; two collections' \
  'stored, 11000; collections: plants' "$(cd "$folder" && node case.mjs "$port")"
report
