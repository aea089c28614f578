// Adds MS milliseconds of round-trip time to a server, at any bandwidth: `node delaying-proxy.js HOST:PORT MS`.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

const [address = '', distance = '0'] = process.argv.slice(2)
const { hostname, port } = new URL(`tcp://${address}`)

const proxy = createServer({ noDelay: true, allowHalfOpen: true }, client => {
  const upstream = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true })
  delayed(client, upstream, 0)
  // All of it on the way back, since each timer is late by half a millisecond.
  delayed(upstream, client, Number(distance))
})
proxy.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`))

/** Timers with the same delay fire in the order in which they were set, so the chunks stay in order. */
function delayed (from: Socket, to: Socket, milliseconds: number): void {
  const later = (deliver: () => void): void => { milliseconds === 0 ? deliver() : setTimeout(deliver, milliseconds) }
  from.on('data', chunk => later(() => to.write(chunk)))
  from.on('end', () => later(() => to.end()))
  from.on('error', () => to.destroy())
}
