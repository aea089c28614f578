import { X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { codeOf } from '../error-message.js'
import { ConfigurationError, readFileOf } from './read-environment.js'

/** A certificate with its chain, and its private key, both PEM. */
export interface TlsPair {
  cert: string
  key: string
  /** When the certificate expires, in milliseconds since 1970. */
  expiresAt: number
}

/** Reads the two files, if they are set, and checks that TLS can use them; throws a ConfigurationError. */
export function readTlsPair (certFile: string | undefined, keyFile: string | undefined): TlsPair | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined || keyFile === undefined) throw new ConfigurationError('TLS_CERT_FILE and TLS_KEY_FILE must both be set, or neither')
  const cert = readFileOf('TLS_CERT_FILE', certFile)
  const key = readFileOf('TLS_KEY_FILE', keyFile)
  // In lists, since an empty text would be taken for none.
  check({ cert: [cert] }, 'TLS_CERT_FILE', 'PEM, the certificate first, then its complete chain')
  check({ cert, key: [key] }, 'TLS_KEY_FILE', 'the private key of TLS_CERT_FILE, PEM, without a passphrase')
  return { cert, key, expiresAt: Date.parse(new X509Certificate(cert).validTo) }
}

function check (options: SecureContextOptions, variable: string, allowed: string): void {
  try {
    createSecureContext(options)
  } catch (error) {
    throw new ConfigurationError(`${variable} cannot be used for TLS (${codeOf(error)}): it must be ${allowed}`)
  }
}
