import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { closedPort } from '../support/process/lasting-port.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { projectFile, testFolder } from '../support/process/program.js'

const ready: RequestListener = (request, response) => response.writeHead(request.url === '/health/ready' ? 200 : 404).end()
const notReady: RequestListener = (_request, response) => response.writeHead(503).end('{"error":50301,"message":"Not ready: …"}')

/** The exit code of the image's health check, and what it prints. */
async function check (env: NodeJS.ProcessEnv): Promise<[number, string]> {
  return new Promise(resolve => {
    execFile(process.execPath, [projectFile('docs/deploy/health-check.js')], { env }, (error, output) => { resolve([Number(error?.code ?? 0), output]) })
  })
}

/** Starts a server; returns the variables of its place. */
async function listen (t: Test, listener: RequestListener, HOST = '127.0.0.1', server = createServer(listener)): Promise<NodeJS.ProcessEnv> {
  await once(server.listen(HOST.startsWith('/') ? { path: HOST } : { host: HOST, port: 0 }), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { HOST, PORT: String((server.address() as AddressInfo).port) }
}

t.test('the health check sends its request to HOST and PORT', async t => {
  const withIPv6 = Object.values(networkInterfaces()).flat().some(address => address?.address === '::1')
  const socket = join(testFolder(t), 'plant-store.sock')
  for (const host of ['127.0.0.1', '0.0.0.0', 'localhost', socket, ...withIPv6 ? ['::1', '::'] : []]) {
    t.strictSame(await check(await listen(t, ready, host)), [0, ''], host)
  }
})

t.test('the health check accepts the service\'s own certificate with any name', async t => {
  const pair = makeCertificate(testFolder(t), 'plants.example')
  const server = createTlsServer({ cert: readFileSync(pair.cert), key: readFileSync(pair.key) }, ready)
  t.strictSame(await check({ ...await listen(t, ready, '127.0.0.1', server), TLS_CERT_FILE: pair.cert }), [0, ''])
})

t.test('the health check fails and says why if the service is not ready, absent or hung', async t => {
  t.strictSame(await check(await listen(t, notReady)), [1, '{"error":50301,"message":"Not ready: …"}'])
  t.match(await check({ PORT: String(await closedPort()) }), [1, 'ECONNREFUSED'])
  t.match(await check({ HOST: join(testFolder(t), 'none.sock') }), [1, 'ENOENT'])
  t.match(await check(await listen(t, () => {})), [1, 'no response within 4 s'])
})
