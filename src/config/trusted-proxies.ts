import { BlockList, isIP } from 'node:net'
import { ConfigurationError } from './read-environment.js'

/**
 * Reads TRUST_PROXY: IP addresses, CIDR ranges (RFC 4632, section 3.1), and `unix:` for a proxy that connects through a
 * Unix socket, as nginx names it. Fastify's own lists have no word for it, as such a peer has no address. Throws a
 * ConfigurationError.
 */
export function trustedProxies (list: string): (address: string | undefined) => boolean {
  const proxies = new BlockList()
  const ranges = list.split(',').map(range => range.trim())
  for (const range of ranges.filter(range => range !== 'unix:')) {
    const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(range) ?? []
    const isV6 = isIP(address) === 6
    try {
      proxies.addSubnet(address, Number(prefix ?? (isV6 ? 128 : 32)), isV6 ? 'ipv6' : 'ipv4')
    } catch {
      throw new ConfigurationError(`TRUST_PROXY holds ${JSON.stringify(range)}: it must be addresses or CIDR ranges of proxies, or unix:, separated by commas`)
    }
  }
  return address => {
    if (address === undefined) return ranges.includes('unix:')
    // An X-Forwarded-For header may contain anything.
    const family = isIP(address)
    return family !== 0 && !address.includes('%') && proxies.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}
