import express, { type Express } from 'express'
import { z } from 'zod'
import type { Insert } from './stores/group-commit.js'

/** Express with its own JSON body parser, zod for validation, and a middleware that compares the token. */
export function expressApp (insert: Insert, token: string): Express {
  const NewPlant = z.object({ id: z.int(), name: z.string(), tag: z.string().optional() })
  const app = express()
  // Both cost time in each response, and the other servers do not have them.
  app.disable('etag')
  app.disable('x-powered-by')

  app.use((request, response, next) => {
    if (request.headers.authorization === `Bearer ${token}`) return next()
    response.status(401).json({ error: 401, message: 'a bearer token is needed' })
  })
  app.post('/plants', express.json(), async (request, response) => {
    const parsed = NewPlant.safeParse(request.body)
    if (!parsed.success) {
      response.status(400).json({ error: 400, message: parsed.error.message })
      return
    }
    const { name, tag } = parsed.data
    if (await insert(parsed.data)) response.json({ name, tag })
    else response.status(400).json({ error: 400, message: 'this id is taken' })
  })
  return app
}
