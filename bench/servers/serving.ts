import type { AddressInfo, Server } from 'node:net'

/** Listens on any port, and prints the address, where the benchmark looks for it. */
export function serve (server: Server): void {
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
}
