#!/usr/bin/env bash
# How many commands the MongoDB driver makes of one insertMany.
# Guess: as few as the server's maxWriteBatchSize (100,000 documents) and maxMessageSizeBytes (48 MB) allow.
# Seen: one document fewer than maxWriteBatchSize, and 16 MiB, which is the limit of one document.
# client.bulkWrite of the same driver fills 48 MB.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install mongodb@7.9.0 bson@7.3.4
cp "$(dirname "$0")/helpers/scripted-mongo-server.mjs" "$folder"

cat > "$folder/split.mjs" <<'JS'
import { MongoClient } from 'mongodb'
import { scriptedMongoServer } from './scripted-mongo-server.mjs'

const plants = (count, name) => Array.from({ length: count }, (_, id) => ({ _id: id, name }))
const server = await scriptedMongoServer({
  hello: () => ({ maxWriteBatchSize: 1000 }),
  reply: command => command.bulkWrite
    ? { ok: 1, nInserted: 3, nErrors: 0, nMatched: 0, nModified: 0, nUpserted: 0, nDeleted: 0, cursor: { id: 0n, ns: 'a.$cmd.bulkWrite', firstBatch: [] } }
    : { ok: 1, n: command.documents.length }
})
const client = new MongoClient(server.url)
const collection = client.db('greenhouse').collection('plants')
const sizes = () => server.commands.splice(0).map(command => (command.documents ?? command.ops).length).join(' + ')

await collection.insertMany(plants(2000, 'Aloe'))
console.log('2,000 small: ' + sizes())
await collection.insertMany(plants(2000, 'Aloe'), { ordered: false })
console.log('2,000 small, unordered: ' + sizes())
await collection.insertMany(plants(3, 'x'.repeat(10_000_000)))
console.log('3 of 10 MB: ' + sizes())
await client.bulkWrite(plants(3, 'x'.repeat(10_000_000)).map(document => ({ name: 'insertOne', namespace: 'greenhouse.plants', document })))
console.log('3 of 10 MB by client.bulkWrite: ' + sizes())
await client.close()
server.close()
JS

seen=$(cd "$folder" && node split.mjs)
compare 'a server that takes 1,000 documents and 48 MB; expected: 1000 + 1000 twice, then 3 twice' \
  '2,000 small: 999 + 999 + 2; 2,000 small, unordered: 999 + 999 + 2; 3 of 10 MB: 1 + 1 + 1; 3 of 10 MB by client.bulkWrite: 3;' \
  "$(tr '\n' ';' <<<"$seen" | sed 's/;\(.\)/; \1/g')"
report
