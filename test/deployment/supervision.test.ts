import { execFile, execFileSync, spawn, spawnSync, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { closedPort } from '../support/process/lasting-port.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { needsProgram } from '../support/process/needs.js'
import { create, program, projectFile, startService, testFolder, token } from '../support/process/program.js'
import { until } from '../support/until.js'

const shipped = (name: string): string => readFileSync(projectFile(`docs/deploy/${name}`), 'utf8')

const withSystemd = needsProgram('systemd-analyze', 'systemd')
const withLogrotate = needsProgram('logrotate')

t.test('systemd-analyze finds no errors in the units, and a low exposure', withSystemd, async t => {
  for (const name of ['plant-store.service', 'plant-store@.service']) {
    const file = join(testFolder(t), name)
    // Node may have another path here, which systemd would report as an error.
    writeFileSync(file, shipped(name).replace('/usr/bin/node', process.execPath))
    const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    t.strictSame([verified.status, verified.stdout + verified.stderr], [0, ''])
    // 0 is no exposure, 100 that of a unit without any hardening.
    t.equal(spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', file]).status, 0)
  }
})

t.test('the units differ only in where a process listens and stores, and allow the longest shutdown', async t => {
  const own = /^(?:#|Description=|Environment=|StateDirectory|RuntimeDirectory|$)/
  const settings = (name: string) => shipped(name).split('\n').filter(line => !own.test(line))
  t.strictSame(settings('plant-store@.service'), settings('plant-store.service'))
  t.ok(Number(/^TimeoutStopSec=(\d+)s$/m.exec(shipped('plant-store.service'))?.[1]) > 25)
  // systemd.service(5): a death by SIGHUP, as of a reload before Node handles signals, would be a clean exit.
  t.match(shipped('plant-store.service'), /^Restart=on-failure$[^]*^RestartForceExitStatus=SIGHUP$/m)
})

t.test('after logrotate has truncated the log, the service continues at its beginning', withLogrotate, async t => {
  const folder = testFolder(t)
  const log = join(folder, 'plant-store.log')
  // Every line must be JSON: NUL bytes, for example, would mean that the service kept writing at the old offset.
  const lines = (file = log) => {
    const texts = readFileSync(file, 'utf8').split('\n').filter(line => line !== '')
    return texts.map(line => JSON.parse(line))
  }
  const variables = { NODE_ENV: 'production', PORT: '0', DATA_DIR: folder, ACCESS_TOKENS: token, ACCESS_LOG: 'true' }
  // Appends, like `StandardOutput=append:`.
  const stdio: StdioOptions = ['ignore', openSync(log, 'a'), 'inherit']
  const service = spawn(process.execPath, [program], { env: variables, stdio })
  const exited = once(service, 'exit')
  t.teardown(() => service.kill('SIGKILL'))
  await until(() => lines().length > 0)
  const [{ address }] = lines()
  await create(address)
  const logged = ['ready', 'request'].map(start => () => lines().some(({ msg }) => msg.startsWith(start)))
  await until(() => logged.every(isLogged => isLogged()))

  const configuration = shipped('logrotate').replace('/var/log/plant-store/plant-store.log', log)
  writeFileSync(join(folder, 'logrotate'), configuration, { mode: 0o600 })
  execFileSync('logrotate', ['--force', '--state', join(folder, 'state'), join(folder, 'logrotate')])
  t.match(lines(`${log}.1`).find(({ msg }) => msg === 'request'), { statusCode: 200 })
  t.strictSame(lines(), [])

  await create(address)
  await until(() => lines().length > 0)
  t.match(lines(), [{ msg: 'request', statusCode: 200 }])
  service.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
})

/** The exit code of the image's health check, and what it prints. */
async function healthCheck (env: NodeJS.ProcessEnv): Promise<[number, string]> {
  return new Promise(resolve => {
    execFile(process.execPath, [projectFile('docs/deploy/health-check.js')], { env }, (error, output) => {
      resolve([Number(error?.code ?? 0), output])
    })
  })
}

/** Starts a server that is no service; returns the port. */
async function listen (t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return String((server.address() as AddressInfo).port)
}

t.test('the image\'s health check asks HOST and PORT, over TLS whatever the certificate names', async t => {
  const { cert, key } = makeCertificate(testFolder(t), 'plants.example')
  const withIPv6 = Object.values(networkInterfaces()).flat().some(address => address?.address === '::1')
  const hosts = ['127.0.0.1', '0.0.0.0', 'localhost', join(testFolder(t), 'plant-store.sock')]
  if (withIPv6) hosts.push('::')
  const settings = [...hosts.map(HOST => ({ HOST })), { TLS_CERT_FILE: cert, TLS_KEY_FILE: key }]
  await Promise.all(settings.map(async variables => {
    const address = { PORT: `${await closedPort()}`, ...variables }
    await startService(t, address)
    t.strictSame(await healthCheck(address), [0, '{"status":"ok"}'], JSON.stringify(variables))
  }))
})

t.test('the image\'s health check fails and says why if the service is not ready, absent or hung', async t => {
  const notReady = '{"error":50301,"message":"Not ready: …"}'
  const PORT = await listen(t, (_request, response) => response.writeHead(503).end(notReady))
  t.strictSame(await healthCheck({ PORT }), [1, notReady])
  t.match(await healthCheck({ PORT: String(await closedPort()) }), [1, 'ECONNREFUSED'])
  t.match(await healthCheck({ HOST: join(testFolder(t), 'none.sock') }), [1, 'ENOENT'])
  t.match(await healthCheck({ PORT: await listen(t, () => {}) }), [1, 'no response within 4 s'])
})
