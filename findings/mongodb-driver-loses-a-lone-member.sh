#!/usr/bin/env bash
# A replica set of one member that answers a single heartbeat as a standalone server, as after a start without --replSet.
# Guess: the driver finds the member again at the next heartbeat, since its address stands in the URL.
# Seen: it removes the member from its list, which is then empty: no more heartbeats, and every later operation times out,
# until the client is made anew. With directConnection=true it goes on.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install mongodb@7.9.0 bson@7.3.4
cp "$(dirname "$0")/helpers/scripted-mongo-server.mjs" "$folder"

cat > "$folder/member.mjs" <<'JS'
import { setTimeout as wait } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { scriptedMongoServer } from './scripted-mongo-server.mjs'

const member = port => ({
  setName: 'greenhouse', setVersion: 1, hosts: [`127.0.0.1:${port}`], me: `127.0.0.1:${port}`, primary: `127.0.0.1:${port}`
})

for (const query of ['', '?directConnection=true']) {
  let standalone = false
  const server = await scriptedMongoServer({
    hello: port => standalone ? {} : member(port),
    reply: () => ({ ok: 1, n: 1 })
  })
  const client = new MongoClient(server.url + query, { serverSelectionTimeoutMS: 3000, heartbeatFrequencyMS: 500 })
  const collection = client.db('greenhouse').collection('plants')
  await collection.insertOne({ _id: 1 })

  standalone = true
  const before = server.hellos()
  while (server.hellos() === before) await wait(20)
  standalone = false
  const after = server.hellos()

  const outcomes = []
  for (const _id of [2, 3]) {
    outcomes.push(await collection.insertOne({ _id }).then(() => 'stored', error => `${error.name}, ${error.reason.servers.size} servers`))
  }
  const heartbeats = server.hellos() > after ? 'further heartbeats' : 'no further heartbeat'
  console.log(`${query || 'from the URL'}: ${outcomes.join('; ')}; ${query ? '' : heartbeats}`)
  await client.close()
  server.close()
}
JS

seen=$(cd "$folder" && node member.mjs)
compare 'inserts after one heartbeat as a standalone; expected: stored, both times' \
  'from the URL: MongoServerSelectionError, 0 servers; MongoServerSelectionError, 0 servers; no further heartbeat' \
  "$(sed -n 1p <<<"$seen")"
compare 'the same with directConnection; expected: stored' \
  '?directConnection=true: stored; stored; ' "$(sed -n 2p <<<"$seen")"
report
