import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { request } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { certificateFiles, makeCertificate } from '../support/process/make-certificate.js'
import { create, startService, testFolder } from '../support/process/program.js'
import { scriptedPlace } from '../support/stores/places.js'
import { until } from '../support/until.js'
import { serviceOnTerminal, startOnTerminal, withScript } from './on-terminal.js'

const OLD = 'the-old-access-token'
const KEPT = 'the-kept-access-token'
const NEW = 'the-new-access-token'

/** The numbers of the signals that a process has handlers for. */
function caught (pid: number): number[] {
  const mask = BigInt(`0x${/^SigCgt:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]}`)
  return Array.from({ length: 31 }, (_, index) => index + 1).filter(signal => (mask >> BigInt(signal - 1) & 1n) === 1n)
}

t.test('SIGHUP under load: new tokens are accepted, removed ones refused, and a kept one is never refused', async t => {
  const file = join(testFolder(t), 'tokens')
  writeFileSync(file, `${OLD}\n${KEPT}\n`)
  const service = await startService(t, { ACCESS_TOKENS_FILE: file })
  t.equal((await create(service.address, { bearer: OLD })).status, 200)
  t.equal((await create(service.address, { bearer: NEW })).status, 401)
  const clients = [false, true].map((reconnect, index) => (
    new PlantClients(overHttp(service.address, KEPT, { reconnect }), 2_000_000 + index * 1_000_000)
  ))
  const stops = clients.map(clients => clients.start(4))

  writeFileSync(file, `${NEW}, ${KEPT}`)
  service.child.kill('SIGHUP')
  t.match(await service.logged('SIGHUP: '), { msg: 'SIGHUP: access tokens reloaded', tokens: 2 })
  t.equal((await create(service.address, { bearer: OLD })).status, 401)
  t.equal((await create(service.address, { bearer: NEW })).status, 200)

  writeFileSync(file, 'short')
  service.child.kill('SIGHUP')
  const fault = await service.logged(`SIGHUP: nothing changed: ACCESS_TOKENS_FILE ("${file}"): token 1 cannot be used`)
  t.equal(fault.level, 50)
  t.equal((await create(service.address, { bearer: NEW })).status, 200)

  await Promise.all(stops.map(stop => stop()))
  for (const { counts } of clients) t.strictSame(Object.keys(counts), ['200'])
  t.notMatch(service.stdout, OLD)

  if (process.platform === 'linux') {
    const node = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)'], { env: {} })
    t.teardown(() => node.kill('SIGKILL'))
    await once(node.stdout, 'data')
    const ofNode = caught(node.pid as number)
    const handled = caught(service.pid).filter(signal => !ofNode.includes(signal))
    t.strictSame(
      handled, [constants.signals.SIGHUP], 'of the signals that end a process; Node handles SIGTERM and SIGINT, too'
    )
  }
  t.match(await service.end('SIGSEGV'), { code: null, signal: 'SIGSEGV' }, 'a crash is one')
})

t.test('SIGHUP loads a new certificate; one with another key or a damaged chain changes nothing', async t => {
  const folder = testFolder(t)
  const { use, ...files } = certificateFiles(folder)
  const first = makeCertificate(folder, 'first')
  const second = makeCertificate(folder, 'second', 30)
  const third = makeCertificate(folder, 'third')
  use(first)
  const url = join(folder, 'url')
  writeFileSync(url, (await scriptedPlace(t)).url)
  const service = await startService(t, { METRICS_PORT: '0', ...files, MONGODB_URL_FILE: url })
  // It is not read again.
  rmSync(url)
  t.match(service.address, /^https:/)
  const { port } = await service.logged('metrics on port')
  const expiresAt = async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    return Number(/^plant_store_tls_certificate_expiry_timestamp_seconds (.*)$/m.exec(text)?.[1]) * 1_000
  }
  t.equal(await expiresAt(), Date.parse(new X509Certificate(first.pem).validTo))
  t.equal(await nameOf(service.address, first.pem), 'first')

  use(second)
  service.child.kill('SIGHUP')
  await service.logged('SIGHUP: certificate reloaded')
  t.equal(await nameOf(service.address, second.pem), 'second')
  t.equal(await expiresAt(), Date.parse(new X509Certificate(second.pem).validTo))
  t.not(await expiresAt(), Date.parse(new X509Certificate(first.pem).validTo))

  copyFileSync(third.cert, files.TLS_CERT_FILE)
  service.child.kill('SIGHUP')
  await service.logged('nothing changed: TLS_KEY_FILE is not the key of the first certificate in TLS_CERT_FILE')
  writeFileSync(files.TLS_CERT_FILE, second.pem + third.pem.slice(0, 300))
  service.child.kill('SIGHUP')
  await service.logged('nothing changed: TLS_CERT_FILE')
  t.equal(await nameOf(service.address, second.pem), 'second')
})

/** The common name of the certificate that a new connection gets, over TLS 1.2 or later. */
async function nameOf (address: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(`${address}/health/live`, { ca, agent: false }, response => {
      const socket = response.socket as TLSSocket
      const { CN } = socket.getPeerCertificate().subject
      const isModern = ['TLSv1.2', 'TLSv1.3'].includes(String(socket.getProtocol()))
      if (response.statusCode !== 200 || !isModern) reject(new Error(`${response.statusCode}`))
      response.resume().on('end', () => resolve(String(CN)))
    }).on('error', reject).end()
  })
}

t.test('in npm run dev a SIGINT that is sent twice shuts down once', async t => {
  const service = await startService(t, { PLANT_STORE_DEV_TOKEN: 'a-token-of-npm-run-dev' })
  // The terminal and `node --watch` both send it.
  await until(() => { try { return !process.kill(service.pid, 'SIGINT') } catch { return true } })
  t.match(await service.ended, { code: 0, signal: null, stderr: '' })
  t.match(service.log.slice(-2), [{ msg: 'SIGINT: finishing pending requests, then exiting' }, { msg: 'stopped' }])
})

t.test('SIGHUP says so if nothing comes from a file', async t => {
  const service = await startService(t)
  service.child.kill('SIGHUP')
  t.match(await service.logged('SIGHUP: '), { level: 30, msg: /nothing to reload/ })
  t.equal((await create(service.address)).status, 200)
})

t.test('on a terminal SIGHUP shuts down, as closing it does', withScript, async t => {
  const { closed, pid, shown } = await serviceOnTerminal(t)
  // The shell and the terminal may both send it.
  await until(() => { try { return !process.kill(pid, 'SIGHUP') } catch { return true } })
  t.strictSame(await closed, [0, null])
  t.match(shown(), /SIGHUP: finishing pending requests[^]*stopped/)
  t.match(shown(), '\u001b[', 'the log is colored')
})

t.test('on a terminal the log has no colors with NO_COLOR or TERM=dumb', withScript, async t => {
  const logger = new URL('../../src/service/logger.js', import.meta.url)
  const code = `const { createLogger } = await import('${logger}')
    const log = await createLogger({ LOG_LEVEL: 'info' }, process.stdout)
    log.info('a line')`
  const node = `${process.execPath} --input-type=module -e "${code}"`
  const { closed, shown } = startOnTerminal(t, `NO_COLOR=1 ${node}; TERM=dumb ${node}`)
  await closed
  const lines = shown().split('\n').filter(line => line.includes('a line'))
  t.strictSame(lines.map(line => line.includes('\u001b[')), [false, false])
})
