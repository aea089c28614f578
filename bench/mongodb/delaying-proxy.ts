import { connect, createServer, type Socket } from 'node:net'
import { serve } from '../servers/serving.js'

/** Adds MS milliseconds of round-trip time to a server, at any bandwidth: `node delaying-proxy.js HOST PORT MS`. */
const [host = '', port = '', distance = '0'] = process.argv.slice(2)

serve(createServer({ noDelay: true, allowHalfOpen: true }, client => {
  const upstream = connect({ host, port: Number(port), noDelay: true, allowHalfOpen: true })
  delayed(client, upstream, 0)
  // All of it on the way back, since each timer is late by half a millisecond.
  delayed(upstream, client, Number(distance))
}))

/** Timers with the same delay fire in the order in which they were set, so the chunks stay in order. */
function delayed (from: Socket, to: Socket, milliseconds: number): void {
  const later = (deliver: () => void): void => { milliseconds === 0 ? deliver() : setTimeout(deliver, milliseconds) }
  from.on('data', chunk => later(() => to.write(chunk)))
  from.on('end', () => later(() => to.end()))
  from.on('error', () => to.destroy())
}
