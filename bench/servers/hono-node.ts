import type { Server } from 'node:http'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { bearerAuth } from 'hono/bearer-auth'
import { z } from 'zod'
import { announceServer, endOnSignal, token } from './announce.js'
import { openPeerStore } from './peer-store.js'

/** Hono on Node with its own bearer middleware, zod, one insert for each request. */
const store = await openPeerStore()
const NewPlant = z.object({ id: z.int(), name: z.string(), tag: z.string().optional() })
const app = new Hono()

app.use(bearerAuth({ token }))
app.post('/plants', async (context) => {
  const parsed = NewPlant.safeParse(await context.req.json().catch(() => null))
  if (!parsed.success) return context.json({ error: 400, message: parsed.error.message }, 400)
  const { name, tag } = parsed.data
  const outcome = store.insert(parsed.data)
  if (!(typeof outcome === 'boolean' ? outcome : await outcome)) {
    return context.json({ error: 400, message: 'this id is taken' }, 400)
  }
  return context.json({ name, tag })
})

const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => announceServer(server)) as Server
endOnSignal(async () => {
  server.closeAllConnections()
  server.close()
  await store.close()
})
