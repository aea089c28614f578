// The health check of the container image: exits with 0 if /health/ready answers 200, at HOST and PORT.
// docker inspect shows what it prints.
import http from 'node:http'
import https from 'node:https'

const { HOST = '127.0.0.1', PORT = '3000', TLS_CERT_FILE } = process.env
const where = HOST.startsWith('/') ? { socketPath: HOST } : { host: HOST, port: PORT }
// The certificate names the service, not the address of this request.
const options = { headers: { host: 'localhost' }, rejectUnauthorized: false, agent: false, timeout: 4000 }

const request = (TLS_CERT_FILE === undefined ? http : https)
  .get({ ...where, ...options, path: '/health/ready' }, response => {
    process.exitCode = response.statusCode === 200 ? 0 : 1
    response.pipe(process.stdout)
  })
  .on('error', error => {
    process.exitCode = 1
    console.log(error.message)
  })
  .on('timeout', () => request.destroy(new Error('no response within 4 s')))
