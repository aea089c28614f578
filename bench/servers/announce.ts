import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/*
 * What every server under bench/servers does at its edges. They run through tsx, which wraps each *named* function in a
 * call that sets its name: so no server here makes a named function, or a constant that holds one, while it answers.
 */
export const token = process.env.ACCESS_TOKENS ?? ''

export function announce (port: number): void {
  console.log(`ready http://127.0.0.1:${port}`)
}

export function announceServer (server: Server): void {
  announce((server.address() as AddressInfo).port)
}

export function endOnSignal (close: () => unknown): void {
  process.once('SIGTERM', () => {
    Promise.resolve(close()).finally(() => process.exit(0))
  })
}
