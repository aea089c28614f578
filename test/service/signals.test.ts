import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { request } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { certificateFiles, makeCertificate } from '../support/process/make-certificate.js'
import { needsProgram } from '../support/process/needs.js'
import { bare, create, program, startService, testFolder, token } from '../support/process/program.js'
import { until } from '../support/until.js'

const OLD = 'the-old-access-token'
const KEPT = 'the-kept-access-token'
const NEW = 'the-new-access-token'

t.test('SIGHUP under load: new tokens are accepted and removed ones refused, and a kept token is never refused', async t => {
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
  await service.logged('SIGHUP: access tokens and certificate reloaded')
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
})

t.test('SIGHUP loads a new certificate; one that does not match the key or has a damaged chain changes nothing', async t => {
  const folder = testFolder(t)
  const { use, ...files } = certificateFiles(folder)
  const first = makeCertificate(folder, 'first')
  const second = makeCertificate(folder, 'second', 30)
  const third = makeCertificate(folder, 'third')
  use(first)
  const service = await startService(t, { METRICS_PORT: '0', ...files })
  t.match(service.address, /^https:/)
  const { port } = await service.logged('metrics on port')
  const expiresAt = async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    return Number(/^plant_store_tls_certificate_expiry_timestamp_seconds (.*)$/m.exec(text)?.[1]) * 1_000
  }
  t.equal(await expiresAt(), Date.parse(new X509Certificate(first.pem).validTo))
  t.match(service.stdout, /curl -sS -w '\\n' https:/)
  t.equal(await nameOf(service.address, first.pem), 'first')

  use(second)
  service.child.kill('SIGHUP')
  await service.logged('certificate reloaded')
  t.equal(await nameOf(service.address, second.pem), 'second')
  t.equal(await expiresAt(), Date.parse(new X509Certificate(second.pem).validTo))
  t.not(await expiresAt(), Date.parse(new X509Certificate(first.pem).validTo))

  copyFileSync(third.cert, files.TLS_CERT_FILE)
  service.child.kill('SIGHUP')
  await service.logged('nothing changed: TLS_KEY_FILE cannot be used for TLS')
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
      if (response.statusCode !== 200 || !['TLSv1.2', 'TLSv1.3'].includes(String(socket.getProtocol()))) reject(new Error(`${response.statusCode}`))
      response.resume().on('end', () => resolve(String(CN)))
    }).on('error', reject).end()
  })
}

/** The numbers of the signals that a process has handlers for. */
function caught (pid: number): number[] {
  const mask = BigInt(`0x${/^SigCgt:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]}`)
  return Array.from({ length: 31 }, (_, index) => index + 1).filter(signal => (mask >> BigInt(signal - 1) & 1n) === 1n)
}

const withProc = { skip: process.platform !== 'linux' && 'there is no /proc' }

t.test('of the signals that end a process, only SIGTERM, SIGINT and SIGHUP are handled, the first two by Node too; a crash is one', withProc, async t => {
  const node = spawn('env', bare({}, [process.execPath, '-e', 'console.log(1); setInterval(() => {}, 1000)']))
  t.teardown(() => node.kill('SIGKILL'))
  await once(node.stdout, 'data')
  const service = await startService(t)
  const ofNode = caught(node.pid as number)
  t.strictSame(caught(service.pid).filter(signal => !ofNode.includes(signal)), [constants.signals.SIGHUP])
  t.match(await service.end('SIGSEGV'), { code: null, signal: 'SIGSEGV' })
})

/** Starts the service on a terminal, which script(1) makes. */
async function startOnTerminal (t: Test, env: NodeJS.ProcessEnv) {
  const variables = { PATH: process.env.PATH, DATA_DIR: testFolder(t), PORT: '0', ACCESS_TOKENS: token, TERM: 'xterm', ...env }
  const terminal = spawn('env', bare(variables, ['script', '-qec', `echo pid $$; exec ${process.execPath} ${program}`, '/dev/null']))
  t.teardown(() => terminal.kill('SIGKILL'))
  let shown = ''
  terminal.stdout.on('data', text => { shown += text })
  const closed = once(terminal, 'close')
  await until(() => shown.includes('ready at'))
  const pid = Number(/pid (\d+)/.exec(shown)?.[1])
  t.teardown(() => { try { process.kill(pid, 'SIGKILL') } catch {} })
  return { terminal, pid, closed, shown: () => shown }
}

const withScript = needsProgram('script', 'bsdutils')

t.test('on a terminal SIGHUP shuts down, as closing it does, and NO_COLOR and TERM=dumb mean no colors', withScript, async t => {
  const [colored, noColor, dumb] = await Promise.all([{}, { NO_COLOR: '1' }, { TERM: 'dumb' }].map(env => startOnTerminal(t, env))) as [Awaited<ReturnType<typeof startOnTerminal>>, any, any]
  process.kill(colored.pid, 'SIGHUP')
  // The shell and the terminal may both send it.
  process.kill(colored.pid, 'SIGHUP')
  await colored.closed
  t.match(colored.shown(), /SIGHUP: finishing pending requests[^]*stopped/)
  t.match(colored.shown(), '\u001b[')
  for (const { shown } of [noColor, dumb]) t.notMatch(shown(), '\u001b[')
  noColor.terminal.kill('SIGKILL')
  await until(() => { try { return !process.kill(noColor.pid, 0) } catch { return true } })
})
