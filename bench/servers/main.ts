import { createServer } from 'node:http'
import { serve } from './serving.js'
import { openPeerStore } from './stores/peer-store.js'

/** Starts a peer, `bare`, `fastify` or `express`: `ACCESS_TOKENS=… DATA_DIR=… node main.js NAME`. */
const [, , name] = process.argv
// What the benchmark sends.
const { ACCESS_TOKENS: token = '', TOKEN } = process.env

// Each loads only its own framework.
switch (name) {
  case 'bare': {
    const { bareServer } = await import('./bare.js')
    serve(bareServer())
    break
  }
  case 'fastify': {
    const { fastifyApp } = await import('./fastify.js')
    const app = await fastifyApp(await openPeerStore(), TOKEN === 'none' ? undefined : token)
    console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
    break
  }
  case 'express': {
    const { expressApp } = await import('./express.js')
    serve(createServer(expressApp(await openPeerStore(), token)))
    break
  }
  default:
    throw new TypeError(`no server ${name}: name bare, fastify or express`)
}
