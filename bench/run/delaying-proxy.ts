import { connect, createServer, type Socket } from 'node:net'
import { serving } from '../servers/serving.js'

/**
 * Puts a server some milliseconds away, half there and half back: `node delaying-proxy.js HOST PORT MS`. A line is a
 * delay, not a narrow pipe: any number of chunks may be under way at once.
 */
const [host = '', port = '', distance = '0'] = process.argv.slice(2)
const there = Math.ceil(Number(distance) / 2)

const server = createServer({ noDelay: true, allowHalfOpen: true }, client => {
  const upstream = connect({ host, port: Number(port), noDelay: true, allowHalfOpen: true })
  delayed(client, upstream, there)
  delayed(upstream, client, Number(distance) - there)
})
server.listen(0, '127.0.0.1', () => serving(server))

/** Timers of one delay run in the order in which they were set, which keeps the chunks' order. */
function delayed (from: Socket, to: Socket, milliseconds: number): void {
  const later = (deliver: () => void): void => { milliseconds === 0 ? deliver() : setTimeout(deliver, milliseconds) }
  from.on('data', chunk => later(() => to.write(chunk)))
  from.on('end', () => later(() => to.end()))
  from.on('error', () => to.destroy())
}
