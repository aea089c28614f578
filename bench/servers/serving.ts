import type { Server } from 'node:net'

/** The token that the suite sends. */
export const token = process.env.ACCESS_TOKENS ?? ''

/** Sends the address of a listening server to the suite, and closes the server on SIGTERM. */
export function serving (server: Server & { closeAllConnections?: () => void }, close: () => unknown = () => {}): void {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port')
  console.log(`ready http://127.0.0.1:${address.port}`)
  process.once('SIGTERM', () => {
    server.closeAllConnections?.()
    server.close()
    Promise.resolve(close()).finally(() => process.exit())
  })
}
