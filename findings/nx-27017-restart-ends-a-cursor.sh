#!/usr/bin/env bash
# A cursor of the MongoDB driver on nx-27017, which is restarted while the documents are read.
# Guess: the next batch fails: the cursor is unknown to the new process (MongoDB: CursorNotFound, 43).
# Seen: an unknown cursor has an empty last batch, so the loop ends as if it had read all.
set -euo pipefail
# shellcheck source=helpers/common.bash
. "$(dirname "$0")/helpers/common.bash"

npm_install mongodb@7.9.0
pypi_install nx-27017==0.8.1

cat > "$folder/restart.mjs" <<'JS'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { MongoClient } from 'mongodb'

const [, , folder, port] = process.argv

function listens () {
  return new Promise(resolve => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('connect', () => { socket.destroy(); resolve(true) })
    socket.on('error', () => resolve(false))
  })
}

async function startServer () {
  const server = spawn(`${folder}/python/bin/nx-27017`,
    ['--data-dir', `${folder}/data`, '-p', port, '--log-file', `${folder}/nx.log`], { stdio: 'ignore' })
  for (let tries = 0; tries < 200; tries++) {
    if (await listens()) return server
    await wait(100)
  }
  throw new Error('the server does not listen')
}

async function stopServer () {
  const exit = once(server, 'exit')
  server.kill()
  await exit
}

let server = await startServer()
const client = new MongoClient(`mongodb://127.0.0.1:${port}/`)
try {
  const collection = client.db('greenhouse').collection('plants')
  await collection.insertMany(Array.from({ length: 1000 }, (_, _id) => ({ _id })))
  let read = 0
  let end = 'without an error'
  try {
    for await (const document of collection.find().batchSize(10)) {
      read += document ? 1 : 0
      if (read === 10) {
        await stopServer()
        server = await startServer()
      }
    }
  } catch (error) {
    end = 'with ' + error.name
  }
  console.log(`read ${read} of ${await collection.countDocuments()}, ended ${end}`)
} finally {
  await client.close()
  await stopServer()
}
JS

compare 'a restart after the first of 100 batches; expected: read 10 of 1000, ended with an error' \
  'read 10 of 1000, ended without an error' "$(cd "$folder" && node restart.mjs "$folder" "$(free_port)")"
report
