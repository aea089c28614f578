#!/usr/bin/env bash
# Documents whose _id is null, or which a schema gave an _id of undefined.
# Guess: null is sent as it is (MongoDB takes it as an _id), and a second one is a duplicate.
# Seen: both are replaced by new ObjectIds, so each retry of such a document is stored once more.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install mongodb@7.9.0 bson@7.3.4
cp "$(dirname "$0")/helpers/scripted-mongo-server.mjs" "$folder"

cat > "$folder/null.mjs" <<'JS'
import { MongoClient } from 'mongodb'
import { scriptedMongoServer } from './scripted-mongo-server.mjs'

const server = await scriptedMongoServer({ reply: command => ({ ok: 1, n: command.documents?.length ?? 1 }) })
const client = new MongoClient(server.url)
const collection = client.db('greenhouse').collection('plants')
const sent = () => server.commands.splice(0).flatMap(command => command.documents).map(({ _id }) => _id?._bsontype ?? String(_id))

await collection.insertOne({ _id: null })
await collection.insertMany([{ _id: null }, { _id: undefined }, { _id: 0 }])
console.log('insert: ' + sent().join(', '))
await client.close()
server.close()
JS

compare '_id null, by insertOne; null, undefined, 0 by insertMany; expected: null, null, ObjectId, 0' \
  'insert: ObjectId, ObjectId, ObjectId, 0' "$(cd "$folder" && node null.mjs)"
report
