#!/usr/bin/env bash
# Integer ids below a bound on nx-27017, a server of MongoDB's protocol above SQLite: found, counted, deleted.
# Guess: a filter means the same in find, countDocuments and deleteMany.
# Seen: find compares the numbers, deleteMany their digits as text, so that it leaves 6 to 9 and 51 to 99 below 500.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install mongodb@7.9.0
pypi_install nx-27017==0.8.1
port=$(free_port)
start "$folder/log" "$folder/python/bin/nx-27017" --data-dir "$folder/data" -p "$port" --log-file "$folder/nx.log"
wait_for_port "$port"

cat > "$folder/delete.mjs" <<'JS'
import { MongoClient } from 'mongodb'
const client = new MongoClient(`mongodb://127.0.0.1:${process.argv[2]}/`)
const collection = client.db('greenhouse').collection('plants')
await collection.insertMany(Array.from({ length: 1000 }, (_, _id) => ({ _id })))
const below = { _id: { $lt: 500 } }
const found = (await collection.find(below).toArray()).length
const { deletedCount } = await collection.deleteMany(below)
const left = (await collection.find(below).sort({ _id: 1 }).toArray()).map(document => document._id)
console.log(`found ${found}, deleted ${deletedCount}, left ${left.length}: ${left.slice(0, 5).join(' ')} … ${left.at(-1)}`)
await client.close()
JS

compare 'ids 0 to 999, those below 500; expected: found 500, deleted 500, left 0' \
  'found 500, deleted 447, left 53: 6 7 8 9 51 … 99' "$(cd "$folder" && node delete.mjs "$port")"
report
