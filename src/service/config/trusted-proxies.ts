import { BlockList, isIP } from 'node:net'
import { ConfigurationError } from './read-environment.js'

/** The address of a proxy that connects through a Unix socket, as nginx writes it. */
const UNIX = 'unix:'

/**
 * Reads TRUST_PROXY: IP addresses, CIDR ranges (RFC 4632, section 3.1) and `unix:`; throws a ConfigurationError.
 * @returns a function that checks whether an address is that of such a proxy; the peer of a Unix socket has none
 */
export function trustedProxies (ranges: string): (address: string | undefined) => boolean {
  const proxies = new BlockList()
  let isUnixTrusted = false
  for (const range of ranges.split(',').map(range => range.trim())) {
    if (range === UNIX) isUnixTrusted = true
    else addRange(proxies, range)
  }
  return address => {
    if (address === undefined) return isUnixTrusted
    // An X-Forwarded-For header may contain anything.
    const family = isIP(address)
    return family !== 0 && !address.includes('%') && proxies.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}

function addRange (proxies: BlockList, range: string): void {
  const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(range) ?? []
  const isV6 = isIP(address) === 6
  try {
    proxies.addSubnet(address, Number(prefix ?? (isV6 ? 128 : 32)), isV6 ? 'ipv6' : 'ipv4')
  } catch {
    throw new ConfigurationError(`TRUST_PROXY holds ${JSON.stringify(range)}: it must hold addresses or CIDR ranges of proxies, or unix:, separated by commas`)
  }
}
