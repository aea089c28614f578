import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
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
  if (certFile === undefined) throw new ConfigurationError('TLS_CERT_FILE is not set: with TLS_KEY_FILE it must be')
  if (keyFile === undefined) throw new ConfigurationError('TLS_KEY_FILE is not set: with TLS_CERT_FILE it must be')
  const cert = readFileOf('TLS_CERT_FILE', certFile)
  const key = readFileOf('TLS_KEY_FILE', keyFile)
  const certificate = orRefuse(() => new X509Certificate(cert),
    () => 'TLS_CERT_FILE names a file without a certificate: it must be PEM, the certificate first, then its chain')
  const privateKey = orRefuse(() => createPrivateKey(key),
    () => 'TLS_KEY_FILE names a file without a private key: it must be PEM, without a passphrase')
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new ConfigurationError('TLS_KEY_FILE names a key of another certificate: it must be the private key of TLS_CERT_FILE')
  }
  // X509Certificate reads only the first certificate, and accepts keys that OpenSSL's security level does not.
  orRefuse(() => createSecureContext({ cert, key }),
    error => `TLS_CERT_FILE cannot be used for TLS (${codeOf(error)}): it must be PEM, the certificate first, then its complete chain`)
  return { cert, key, expiresAt: Date.parse(certificate.validTo) }
}

function orRefuse<T> (parse: () => T, messageFor: (error: unknown) => string): T {
  try {
    return parse()
  } catch (error) {
    throw new ConfigurationError(messageFor(error))
  }
}
