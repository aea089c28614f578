import express from 'express'
import { z } from 'zod'
import { announceServer, endOnSignal, token } from './announce.js'
import { openPeerStore } from './peer-store.js'

/** Express 5 with its own JSON body parser, zod, the token checked by hand, one insert for each request. */
const store = await openPeerStore()
const NewPlant = z.object({ id: z.int(), name: z.string(), tag: z.string().optional() })
const app = express()

app.use((request, response, next) => {
  if (request.headers.authorization === `Bearer ${token}`) {
    next()
  } else {
    response.status(401).json({ error: 401, message: 'a bearer token is needed' })
  }
})
app.use(express.json())
app.post('/plants', async (request, response) => {
  const parsed = NewPlant.safeParse(request.body)
  if (!parsed.success) {
    response.status(400).json({ error: 400, message: parsed.error.message })
    return
  }
  const { name, tag } = parsed.data
  const outcome = store.insert(parsed.data)
  if (!(typeof outcome === 'boolean' ? outcome : await outcome)) {
    response.status(400).json({ error: 400, message: 'this id is taken' })
    return
  }
  response.json({ name, tag })
})
app.use(((fault: Error & { status?: number }, _request, response, _next) => {
  const status = fault.status ?? 500
  response.status(status).json({ error: status, message: fault.message })
}) satisfies express.ErrorRequestHandler)

const server = app.listen(0, '127.0.0.1', () => announceServer(server))
endOnSignal(async () => {
  server.closeAllConnections()
  server.close()
  await store.close()
})
