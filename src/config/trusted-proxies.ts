import { isIP } from 'node:net'
import { compile } from '@fastify/proxy-addr'
import { ConfigurationError } from './read-environment.js'

/**
 * Reads TRUST_PROXY as Fastify reads a list of `trustProxy`, and `unix:`, as nginx names it, for a proxy that connects
 * through a Unix socket and so has no address. Throws a ConfigurationError.
 */
export function trustedProxies (list: string): (address: string | undefined) => boolean {
  const peers = list.split(',').map(peer => peer.trim())
  const ranges = peers.filter(peer => peer !== 'unix:')
  try {
    // Without this, `1` would be the address 0.0.0.1.
    if (ranges.some(range => isIP(range.replace(/\/\d{1,3}$/, '')) === 0)) throw new TypeError('no address')
    const trusts = compile(ranges)
    return address => address === undefined ? peers.includes('unix:') : trusts(withoutPort(address), 0)
  } catch {
    throw new ConfigurationError(`TRUST_PROXY is ${JSON.stringify(list)}: it must be addresses or CIDR ranges of proxies, or unix:, separated by commas`)
  }
}

/** An address of X-Forwarded-For without the port that Azure's gateway adds, as in `192.0.2.1:5678`. */
export function withoutPort (address: string): string {
  return address.replace(/^(?:\[([\da-f:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/i, '$1$2')
}
