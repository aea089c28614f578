import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server } from 'node:http'
import https from 'node:https'
import { createServer, type AddressInfo, type Server as NetServer } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { FastifyServerOptions } from 'fastify'
import { codeOf } from '../../error-message.js'
import { isSocketPath, type Configuration } from '../../config/configuration.js'
import type { TlsPair } from '../../config/tls-pair.js'
import { writeInOnePiece } from './node-workarounds.js'

const settings = {
  // A slow client is disconnected: headers after 10 s, the whole request after 20 s.
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16_384,
  // A request without Host is refused with a response in the Error shape.
  requireHostHeader: false
}

/** Fastify's options for its server, which is an HTTPS server if there is a certificate. */
export function serverOptions ({ tls, KEEP_ALIVE_TIMEOUT }: Partial<Configuration>): FastifyServerOptions {
  const options = {
    requestTimeout: 20_000,
    ...(KEEP_ALIVE_TIMEOUT !== undefined && { keepAliveTimeout: KEEP_ALIVE_TIMEOUT }),
    // A connection without a handshake delays a shutdown, which is forced after 5 s at the earliest.
    ...(tls === undefined ? { http: settings } : { https: { ...settings, ...secureContext(tls), handshakeTimeout: 5_000 } })
  }
  return options
}

/** Sets what Node has no option for. */
export function configureServer (server: Server): void {
  // By default Node silently drops headers after 2,000, one of which could be a second Authorization. maxHeaderSize
  // limits them.
  server.maxHeadersCount = 0
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1); Node would send a 417 without a body.
  server.on('checkExpectation', (request, response) => { server.emit('request', request, response) })
  server.on(server instanceof https.Server ? 'secureConnection' : 'connection', writeInOnePiece)
}

/** Serves another certificate on new connections. */
export function changeCertificate (server: Server, tls: TlsPair): void {
  if (server instanceof https.Server) server.setSecureContext(secureContext(tls))
}

/** RFC 9325, section 3.1.1: TLS 1.2 or later. The ciphers are Node's, which follow its security releases. */
function secureContext ({ cert, key }: TlsPair): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' }
}

/**
 * Listens on a Unix socket, or on every address of a host, as Fastify does for `localhost`.
 * @param port 0 for a free port, the same one on every address
 * @returns the server, and for each further address a listener that hands its connections to the server
 */
export async function listenOn (server: Server, host: string, port: number): Promise<NetServer[]> {
  if (isSocketPath(host)) {
    await once(server.listen(host), 'listening')
    return [server]
  }
  const addresses = new Set((await lookup(host, { all: true })).map(({ address }) => address))
  const listeners: NetServer[] = []
  let unavailable: unknown
  for (const address of addresses) {
    const listener = listeners.length === 0 ? server : handingTo(server)
    try {
      await once(listener.listen(port, address), 'listening')
      listeners.push(listener)
      port = (listener.address() as AddressInfo).port
    } catch (error) {
      // A name may have an address of a family that the machine lacks, such as ::1.
      if (codeOf(error) !== 'EADDRNOTAVAIL' && codeOf(error) !== 'EAFNOSUPPORT') throw error
      unavailable = error
    }
  }
  if (listeners.length === 0) throw unavailable
  return listeners
}

function handingTo (server: Server): NetServer {
  // As Node's HTTP servers are: half-open connections are for HTTP, not for TLS.
  const options = { allowHalfOpen: !(server instanceof https.Server), noDelay: true }
  return createServer(options, socket => { server.emit('connection', socket) })
}
