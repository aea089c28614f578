// The health check of the container image: exits with 0 if /health/ready answers 200, wherever HOST and PORT say.
import http from 'node:http'
import https from 'node:https'

const { HOST = '127.0.0.1', PORT = '3000', TLS_CERT_FILE } = process.env
const where = HOST.startsWith('/') ? { socketPath: HOST } : { host: HOST, port: PORT }

// The certificate names the service, not the address that this asks.
;(TLS_CERT_FILE === undefined ? http : https)
  .get({ ...where, path: '/health/ready', headers: { host: 'localhost' }, rejectUnauthorized: false, timeout: 4000 }, response => {
    process.exit(response.statusCode === 200 ? 0 : 1)
  })
  .on('error', () => process.exit(1))
  .on('timeout', () => process.exit(1))
