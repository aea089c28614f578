import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { closedPort } from '../support/process/lasting-port.js'
import { needsProgram } from '../support/process/needs.js'
import { create, launch, projectFile, startService, testFolder, token } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'

const withNginx = needsProgram('nginx', 'nginx-light')
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

const restarts = [
  { signal: 'SIGTERM', sockets: 'ports' },
  { signal: 'SIGKILL', sockets: 'ports' },
  { signal: 'SIGTERM', sockets: 'Unix sockets' }
] as const
for (const { signal, sockets } of restarts) {
  const name = `two processes on ${sockets}, restarted in turn with ${signal}: ` +
    'every request gets its 200, and its plant is stored once'
  t.test(name, withNginx, async t => {
    const folder = testFolder(t)
    const mongo = await ScriptedMongo.start(t)
    const addressOf = async (name: string) =>
      sockets === 'ports' ? { PORT: `${await closedPort()}` } : { HOST: join(folder, name) }
    const addresses = await Promise.all(['1', '2'].map(addressOf))
    const start = async (address: NodeJS.ProcessEnv) => {
      const process = launch(t, { ...address, ACCESS_TOKENS: token, MONGODB_URL: mongo.url })
      return { process, url: await process.ready() }
    }
    const running = await Promise.all(addresses.map(start))
    const clients = new PlantClients(overHttp(await startNginx(t, running.map(({ url }) => url)), token))
    const stop = clients.start(16)
    for (const turn of [0, 1, 0, 1]) {
      await clients.create()
      await running[turn]?.process.end(signal)
      running[turn] = await start(addresses[turn] as NodeJS.ProcessEnv)
    }
    await stop()
    t.strictSame(Object.keys(clients.counts), ['200'])
    t.ok(clients.acknowledged.length > 100, `${clients.acknowledged.length} requests`)
    t.equal(mongo.majority().size, clients.acknowledged.length)
  })
}

t.test('a create that one process refuses goes to the other', withNginx, async t => {
  const services = [await startService(t), await startService(t, { QUEUE_BYTES: '1' })] as const
  t.equal((await create(services[1].address)).status, 503)
  const url = await startNginx(t, services.map(({ address }) => address))
  for (let i = 0; i < 4; i++) t.equal((await create(url)).status, 200)
})

t.test('the client\'s address, and the id that the response carries, come from nginx alone', withNginx, async t => {
  const trust = { TRUST_PROXY: '127.0.0.1', REQUEST_ID_HEADER: 'x-request-id' }
  const service = await startService(t, { ACCESS_LOG: 'true', ...trust })
  const url = await startNginx(t, [service.address, service.address])
  const claimed = { 'x-request-id': 'claimed', 'x-forwarded-for': '192.0.2.1' }
  const answer = await fetch(`${url}/plants`, { method: 'POST', headers: { ...headers, ...claimed }, body: '{}' })
  const id = answer.headers.get('x-request-id') ?? ''
  t.match(id, /^[\da-f]{32}$/)
  const { error } = await answer.json() as { error: number }
  t.strictSame([answer.status, error], [400, 40003], 'its errors are not replaced')
  await service.end('SIGTERM')
  t.match(service.log.find(({ reqId }) => reqId === id), { statusCode: 400, remoteAddress: '127.0.0.1' })
})

t.test('nginx lets bodies of up to BODY_LIMIT bytes pass', withNginx, async t => {
  const { address } = await startService(t)
  for (const url of [address, await startNginx(t, [address, address])]) {
    for (const [bytes, status] of [[1_048_576, 200], [1_048_577, 413]] as const) {
      const body = JSON.stringify({ id: 1, name: 'x'.repeat(bytes - '{"id":1,"name":""}'.length) })
      t.equal((await fetch(`${url}/plants`, { method: 'POST', headers, body })).status, status)
    }
  }
})

/** Starts nginx with docs/deploy/nginx.conf in front of two services; returns its URL. */
async function startNginx (t: Test, urls: readonly string[]): Promise<string> {
  const folder = testFolder(t)
  const port = await closedPort()
  const [one, two] = urls.map(url => url.replace('http://', '')) as [string, string]
  const configuration = readFileSync(projectFile('docs/deploy/nginx.conf'), 'utf8')
  const own = configuration.replace('plants1:3000', one).replace('plants2:3000', two)
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const temporary = kinds.map(kind => `${kind}_temp_path ${join(folder, kind)};`).join(' ')
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const main = `daemon off; pid ${join(folder, 'pid')}; ${user} events {}`
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, `${main} http { access_log off; ${temporary} ${own} }`)
  const words = ['-e', join(folder, 'error.log'), '-c', file]
  const nginx = spawn('nginx', words, { stdio: ['ignore', 'ignore', 'inherit'] })
  const exited = once(nginx, 'exit')
  t.teardown(async () => nginx.kill('SIGTERM') && exited)
  const url = `http://127.0.0.1:${port}`
  while (nginx.exitCode === null && !await fetch(url, { method: 'HEAD' }).then(() => true, () => false)) await sleep(20)
  return url
}
