import { copyFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { overHttp, PlantClients } from '../../support/http/plant-clients.js'
import { certificateFiles, makeCertificate, type Certificate } from '../../support/process/make-certificate.js'
import { create, startService, testFolder } from '../../support/process/program.js'

const OLD = 'the-old-access-token'
const KEPT = 'the-kept-access-token'
const NEW = 'the-new-access-token'

t.test('SIGHUP under load: new tokens are accepted and removed ones refused, and a kept token is never refused', async t => {
  const file = join(testFolder(t), 'tokens')
  writeFileSync(file, `${OLD}\n${KEPT}\n`)
  const service = await startService(t, { ACCESS_TOKENS_FILE: file }, { counted: true })
  t.equal((await create(service.address, { bearer: OLD })).status, 200)
  t.equal((await create(service.address, { bearer: NEW })).status, 401)
  const clients = [false, true].map((reconnect, place) => (
    new PlantClients(overHttp(service.address, KEPT, { reconnect }), 2_000_000 + place * 1_000_000)
  ))
  const stops = clients.map(clients => clients.start(4))

  writeFileSync(file, `${NEW}, ${KEPT}`)
  service.child.kill('SIGHUP')
  await service.logged('SIGHUP: access tokens and certificate reloaded')
  t.equal((await create(service.address, { bearer: OLD })).status, 401)
  t.equal((await create(service.address, { bearer: NEW })).status, 200)

  writeFileSync(file, 'short')
  service.child.kill('SIGHUP')
  const fault = await service.logged('SIGHUP: nothing changed: ACCESS_TOKENS: token 1 of 1 is too short')
  t.equal(fault.level, 50)
  t.equal((await create(service.address, { bearer: NEW })).status, 200)

  await Promise.all(stops.map(stop => stop()))
  for (const { counts } of clients) t.strictSame(Object.keys(counts), ['200'])
  t.notMatch(service.stdout, OLD)
})

t.test('SIGHUP loads a new certificate; one that does not match the key or has a damaged chain changes nothing', async t => {
  const folder = testFolder(t)
  const { use, ...files } = certificateFiles(folder)
  const [first, second, third] = ['first', 'second', 'third'].map(name => makeCertificate(folder, name)) as [Certificate, Certificate, Certificate]
  use(first)
  const service = await startService(t, { ...files }, { counted: true })
  t.match(service.address, /^https:/)
  t.match(service.stdout, /curl -sS https:/)
  t.equal(await nameOf(service.address, first.pem), 'first')

  const loads = Array.from({ length: 4 }, () => load(service.address, first.pem + second.pem))
  use(second)
  service.child.kill('SIGHUP')
  await service.logged('certificate reloaded')
  const eight = async () =>
    Promise.all(Array.from({ length: 8 }, () => nameOf(service.address, first.pem + second.pem)))
  let names = await eight()
  for (let turn = 0; turn < 200 && names.includes('first'); turn++) names = await eight()
  t.strictSame(names, Array(8).fill('second'))

  for (const stop of loads) t.same(await stop(), [], 'no request failed while the certificate changed')

  copyFileSync(third.cert, files.TLS_CERT_FILE)
  service.child.kill('SIGHUP')
  await service.logged('TLS_KEY_FILE names a key of another certificate')
  writeFileSync(files.TLS_CERT_FILE, second.pem + third.pem.slice(0, 300))
  service.child.kill('SIGHUP')
  await service.logged('nothing changed: TLS_CERT_FILE')
  t.equal(await nameOf(service.address, second.pem), 'second')
})

/** Sends requests on new connections; returns a function that stops them and returns the failures. */
function load (address: string, ca: string): () => Promise<unknown[]> {
  const failures: unknown[] = []
  const stop = new AbortController()
  const stopped = (async () => {
    while (!stop.signal.aborted) await nameOf(address, ca).catch((error: Error) => failures.push(error.message))
  })()
  return async () => {
    stop.abort()
    await stopped
    return failures
  }
}

/** The common name of the certificate that a new connection gets, over TLS 1.2 or later. */
async function nameOf (address: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(`${address}/health/live`, { ca, agent: false }, response => {
      const socket = response.socket as TLSSocket
      const { CN } = socket.getPeerCertificate().subject
      if (response.statusCode !== 200 || !['TLSv1.2', 'TLSv1.3'].includes(String(socket.getProtocol()))) reject(new Error(`${response.statusCode}`))
      response.resume().on('end', () => resolve(String(CN)))
    }).on('error', reject).end()
  })
}
