import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Certificate { cert: string, key: string, pem: string }

/** Creates a self-signed certificate for localhost with the openssl command. */
export function makeCertificate (folder: string, name: string, days = 2): Certificate {
  const cert = join(folder, `${name}.crt`)
  const key = join(folder, `${name}.key`)
  const keyOptions = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key]
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const words = ['req', '-x509', ...keyOptions, '-days', String(days), ...subject, '-out', cert]
  execFileSync('openssl', words, { stdio: 'ignore' })
  return { cert, key, pem: readFileSync(cert, 'utf8') }
}

/** The files from which a service reads its certificate; `use` replaces them. */
export function certificateFiles (folder: string) {
  const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  const use = ({ cert, key }: Certificate): void => {
    copyFileSync(cert, TLS_CERT_FILE)
    copyFileSync(key, TLS_KEY_FILE)
  }
  return { TLS_CERT_FILE, TLS_KEY_FILE, use }
}
