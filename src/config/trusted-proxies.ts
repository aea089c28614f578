import { isIP } from 'node:net'
import { compile } from '@fastify/proxy-addr'
import { ConfigurationError } from './read-environment.js'

/**
 * Reads TRUST_PROXY as Fastify reads a list of `trustProxy`, and `unix:`, as nginx names it, for a proxy that connects
 * through a Unix socket and so has no address. Throws a ConfigurationError.
 */
export function trustedProxies (list: string): (address: string | undefined) => boolean {
  const ranges = list.split(',').map(range => range.trim())
  const trusts = ranges.filter(range => range !== 'unix:').map(range => {
    try {
      // Without this, `1` would be the address 0.0.0.1.
      if (isIP(range.replace(/\/\d{1,3}$/, '')) === 0) throw new TypeError('no address')
      return compile(range)
    } catch {
      throw new ConfigurationError(`TRUST_PROXY holds ${JSON.stringify(range)}: it must be addresses or CIDR ranges of proxies, or unix:, separated by commas`)
    }
  })
  return address => (
    address === undefined ? ranges.includes('unix:') : trusts.some(trust => trust(withoutPort(address), 0))
  )
}

/** An address of X-Forwarded-For without the port that Azure's gateway adds, as in `192.0.2.1:5678`. */
export function withoutPort (address: string): string {
  return address.replace(/^(?:\[([\da-f:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/i, '$1$2')
}
