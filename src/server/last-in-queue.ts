import { connect } from 'node:net'

const PATIENCE = 500

/**
 * Resolves when all connections that were made before this call have come to a process that serves them: between the
 * kernel and a worker they stand in queues that nothing shows, so a connection stands in behind them. It is there when
 * it gets an answer, of whatever kind (with TLS, an alert).
 * @param address where the service listens
 */
export async function lastInQueue (address: string): Promise<void> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, PATIENCE)
    const come = (): void => {
      clearTimeout(timer)
      resolve()
    }
    socket.on('data', come).on('error', come).on('close', come)
    // No HTTP, so that it is answered, but neither logged nor counted.
    socket.write('?\r\n\r\n')
  })
  socket.destroy()
}
