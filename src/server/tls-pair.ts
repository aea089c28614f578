import { createPrivateKey, X509Certificate } from 'node:crypto'
import { ConfigurationError, readFileOf } from './read-variable.js'

/** A certificate with its chain, and its private key, both PEM. */
export interface TlsPair {
  cert: string
  key: string
}

/**
 * Reads the files of TLS_CERT_FILE and TLS_KEY_FILE, and makes sure that they are a pair.
 * @returns undefined where neither is set
 * @throws {ConfigurationError}
 */
export function readTlsPair (certFile: string | undefined, keyFile: string | undefined): TlsPair | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined) throw new ConfigurationError('TLS_CERT_FILE is not set: where TLS_KEY_FILE is, it must be the file of the certificate')
  if (keyFile === undefined) throw new ConfigurationError('TLS_KEY_FILE is not set: where TLS_CERT_FILE is, it must be the file of its private key')
  const cert = readFileOf('TLS_CERT_FILE', certFile)
  const key = readFileOf('TLS_KEY_FILE', keyFile)
  const certificate = orRefuse(() => new X509Certificate(cert),
    'TLS_CERT_FILE names a file that holds no certificate: it must be PEM, the certificate first, then its chain')
  const privateKey = orRefuse(() => createPrivateKey(key),
    'TLS_KEY_FILE names a file that holds no private key: it must be PEM, without a passphrase')
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new ConfigurationError('TLS_KEY_FILE names a key of another certificate: it must be the private key of TLS_CERT_FILE')
  }
  return { cert, key }
}

function orRefuse<T> (parse: () => T, refusal: string): T {
  try {
    return parse()
  } catch {
    throw new ConfigurationError(refusal)
  }
}
