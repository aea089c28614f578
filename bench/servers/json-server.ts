import type { RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { RequestHandler } from 'express'

/**
 * json-server as a module with access control, as its README has it, without its log. So it has written its file when
 * it responds; its command responds before.
 */
export function jsonServerApp (file: string, token: string): RequestListener {
  const jsonServer = createRequire(import.meta.url)('json-server')
  const authenticate: RequestHandler = (request, response, next) => {
    if (request.headers.authorization === `Bearer ${token}`) next()
    else response.sendStatus(401)
  }
  const app = jsonServer.create()
  app.use(jsonServer.defaults({ logger: false }))
  app.use(authenticate)
  app.use(jsonServer.router(file))
  return app
}
