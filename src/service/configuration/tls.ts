import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { codeOf } from '../../error-message.js'
import { ConfigurationError, readFileOf } from './read-environment.js'

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/**
 * Reads the two files, if they are set, and checks that TLS can use them; throws a ConfigurationError.
 * @returns their contents, and when the certificate expires, in milliseconds since 1970
 */
export function readTlsPair (certFile: string | undefined, keyFile: string | undefined) {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined || keyFile === undefined) throw new ConfigurationError('TLS_CERT_FILE and TLS_KEY_FILE must both be set, or neither')
  const cert = readFileOf('TLS_CERT_FILE', certFile)
  const key = readFileOf('TLS_KEY_FILE', keyFile)
  // In lists, since an empty text would be taken for none.
  checkTls({ cert: [cert] }, 'TLS_CERT_FILE', 'PEM, the certificate first, then its complete chain')
  checkTls({ key: [key] }, 'TLS_KEY_FILE', 'the private key of TLS_CERT_FILE, PEM, without a passphrase')
  const certificate = new X509Certificate(cert)
  const privateKey = createPrivateKey(key)
  if (!certificate.checkPrivateKey(privateKey)) {
    const chain = cert.match(PEM_CERTIFICATE) ?? []
    const isLater = chain.some(pem => new X509Certificate(pem).checkPrivateKey(privateKey))
    const remedy = isLater ? 'the certificate of this key comes later in TLS_CERT_FILE: put it first' : 'it must be that certificate\'s private key'
    throw new ConfigurationError(`TLS_KEY_FILE is not the key of the first certificate in TLS_CERT_FILE, ${subjectOf(certificate)}: ${remedy}`)
  }
  return { cert, key, expiresAt: Date.parse(certificate.validTo) }
}

function checkTls (options: SecureContextOptions, variable: string, allowed: string): void {
  try {
    createSecureContext(options)
  } catch (error) {
    throw new ConfigurationError(`${variable} cannot be used for TLS (${codeOf(error)}): it must be ${allowed}`)
  }
}

/** The subject of a certificate in one line. */
function subjectOf ({ subject }: X509Certificate): string {
  return JSON.stringify(subject.replaceAll('\n', ', '))
}
