#!/usr/bin/env bash
# An unordered insertMany that the driver divides into three commands, of which the server refuses the second as a whole.
# Guess: unordered means that the third is sent all the same, as it is after write errors.
# Seen: it is never sent, and the error's insertedIds list its documents among the inserted.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install mongodb@7.9.0 bson@7.3.4
cp "$(dirname "$0")/helpers/scripted-mongo-server.mjs" "$folder"

cat > "$folder/unordered.mjs" <<'JS'
import { MongoClient } from 'mongodb'
import { scriptedMongoServer } from './scripted-mongo-server.mjs'

const refusals = {
  'a write error': command => ({ ok: 1, n: command.documents.length - 1, writeErrors: [{ index: 0, code: 11000, errmsg: 'duplicate' }] }),
  'the whole command': () => ({ ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized' })
}
for (const [name, refusal] of Object.entries(refusals)) {
  const server = await scriptedMongoServer({
    hello: () => ({ maxWriteBatchSize: 3 }),
    reply: (command, count) => count === 2 ? refusal(command) : { ok: 1, n: command.documents.length }
  })
  const client = new MongoClient(server.url)
  const documents = [1, 2, 3, 4, 5, 6].map(_id => ({ _id }))
  const error = await client.db('greenhouse').collection('plants').insertMany(documents, { ordered: false }).catch(error => error)
  console.log(`${name}: ${server.commands.length} commands, insertedCount ${error.insertedCount}, ` +
    `insertedIds ${Object.values(error.insertedIds).join(' ')}`)
  await client.close()
  server.close()
}
JS

seen=$(cd "$folder" && node unordered.mjs)
compare 'the second command has a write error; expected: 3 commands, 5 inserted, all but the third' \
  'a write error: 3 commands, insertedCount 5, insertedIds 1 2 4 5 6' "$(sed -n 1p <<<"$seen")"
compare 'the second command is refused as a whole; expected: 3 commands, 4 inserted, 1 2 5 6' \
  'the whole command: 2 commands, insertedCount 2, insertedIds 1 2 3 4 5 6' "$(sed -n 2p <<<"$seen")"
report
