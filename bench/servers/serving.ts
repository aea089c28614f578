import type { Server } from 'node:net'

/** The token that the benchmark sends. */
export const token = process.env.ACCESS_TOKENS ?? ''

/** Prints the address of a listening server, where the benchmark looks for it. */
export function serving (server: Server): void {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port')
  console.log(`ready http://127.0.0.1:${address.port}`)
}
