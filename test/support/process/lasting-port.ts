import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'

// Below the ephemeral ports, which the system assigns to connections and to `listen(0)` (from 32768 on Linux, from
// 49152 elsewhere: RFC 6335, section 6), with a different range for each of the test files that run concurrently.
const PER_PROCESS = 400
const FIRST = 15_000 + process.pid % 42 * PER_PROCESS

let taken = Math.floor(Math.random() * PER_PROCESS)

/** Listens on a port of 127.0.0.1 that the system does not assign to others after the server has closed. */
export async function listenOnLastingPort (server: Server): Promise<void> {
  for (;;) {
    try {
      await once(server.listen(FIRST + ++taken % PER_PROCESS, '127.0.0.1'), 'listening')
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}

/** A port on which nothing listens, and which the system does not assign. */
export async function closedPort (): Promise<number> {
  const server = createServer()
  await listenOnLastingPort(server)
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
