import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { readFileSync } from 'node:fs'
import type { AddressInfo, ListenOptions } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { closedPort } from '../support/process/lasting-port.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { testFolder } from '../support/process/program.js'
import { projectFile } from '../support/process/project.js'

const ready: RequestListener = (request, response) => response.writeHead(request.url === '/health/ready' ? 200 : 404).end()
const notReady: RequestListener = (_request, response) => response.writeHead(503).end('{"error":50301,"message":"Not ready: …"}')

/** The exit code of the image's health check, and what it prints. */
async function check (env: NodeJS.ProcessEnv): Promise<{ code: number, output: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, [projectFile('docs/deploy/health-check.js')], { env }, (error, output) => {
      resolve({ code: error === null ? 0 : Number(error.code), output })
    })
  })
}

async function listen (
  t: Test, listener: RequestListener, where: ListenOptions, tls?: { cert: string, key: string }
): Promise<string> {
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  await once(server.listen(where.path === undefined ? { port: 0, ...where } : where), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return where.path === undefined ? String((server.address() as AddressInfo).port) : ''
}

t.test('the health check sends its request to HOST and PORT', async t => {
  const withIPv6 = Object.values(networkInterfaces()).flat().some(address => address?.address === '::1')
  for (const host of ['127.0.0.1', '0.0.0.0', 'localhost', ...withIPv6 ? ['::1', '::'] : []]) {
    t.match(await check({ HOST: host, PORT: await listen(t, ready, { host }) }), { code: 0 }, host)
  }
  const path = join(testFolder(t), 'plant-store.sock')
  await listen(t, ready, { path })
  t.match(await check({ HOST: path }), { code: 0 }, 'a Unix socket')
})

t.test('the health check accepts the service\'s own certificate with any name', async t => {
  const pair = makeCertificate(testFolder(t), 'plants.example')
  const PORT = await listen(t, ready, { host: '127.0.0.1' }, { cert: readFileSync(pair.cert, 'utf8'), key: readFileSync(pair.key, 'utf8') })
  t.match(await check({ PORT, TLS_CERT_FILE: pair.cert }), { code: 0 })
})

t.test('the health check fails and says why if the service is not ready, absent or hung', async t => {
  t.same(await check({ PORT: await listen(t, notReady, { host: '127.0.0.1' }) }), { code: 1, output: '{"error":50301,"message":"Not ready: …"}' })
  t.match(await check({ PORT: String(await closedPort()) }), { code: 1, output: 'ECONNREFUSED' })
  t.match(await check({ HOST: join(testFolder(t), 'none.sock') }), { code: 1, output: 'ENOENT' })
  t.match(await check({ PORT: await listen(t, () => {}, { host: '127.0.0.1' }) }), { code: 1, output: 'no response within 4 s' })
})
