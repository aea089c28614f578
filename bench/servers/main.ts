// Starts a peer, and prints its address: `SERVER=bare|fastify|express|json-server ACCESS_TOKENS=… DATA_DIR=… node
// main.js`. With `STORE=group commit`, pending requests share a write; with MONGODB_URL, plants are stored there.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { groupCommit, type Insert } from './stores/group-commit.js'

const { SERVER, ACCESS_TOKENS: token = '', TOKEN, MONGODB_URL, DATA_DIR = '', STORE } = process.env

const server = await createPeer()
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))

/** Loads only the framework and the store that it uses. */
async function createPeer (): Promise<Server> {
  if (SERVER === 'bare') {
    const { bareServer } = await import('./bare.js')
    return bareServer()
  }
  if (SERVER === 'express') {
    const { expressApp } = await import('./express.js')
    return createServer(expressApp(await openStore(), token))
  }
  if (SERVER === 'json-server') {
    const { jsonServerApp } = await import('./json-server.js')
    return createServer(jsonServerApp(join(DATA_DIR, 'db.json'), token))
  }
  const { fastifyApp } = await import('./fastify.js')
  const app = await fastifyApp(await openStore(), TOKEN === 'none' ? undefined : token)
  await app.ready()
  return app.server
}

async function openStore (): Promise<Insert> {
  if (STORE === 'none') return () => true
  if (MONGODB_URL !== undefined) {
    const { insertIntoMongo } = await import('./stores/mongo-inserts.js')
    const { insert, insertMany } = await insertIntoMongo(MONGODB_URL)
    // The service, too, has up to 16 batches in flight.
    return STORE === 'group commit' ? groupCommit(insertMany, 16) : insert
  }
  const { openSqlite, sqliteThread } = await import('./stores/sqlite.js')
  const path = join(DATA_DIR, 'plants.db')
  return STORE === 'group commit' ? groupCommit(sqliteThread(path), 1) : (await openSqlite(path)).insert
}
