import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Creates a self-signed certificate for localhost with the openssl command. */
export function makeCertificate (folder: string, name: string, days = 2): { cert: string, key: string, pem: string } {
  const cert = join(folder, `${name}.crt`)
  const key = join(folder, `${name}.key`)
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', String(days),
    '-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { cert, key, pem: readFileSync(cert, 'utf8') }
}
