import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { RawConnection } from '../support/http/raw-connection.js'
import { closedPort } from '../support/process/lasting-port.js'
import { needsProgram } from '../support/process/needs.js'
import { launch, projectFile, startService, testFolder, token } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'

const withNginx = needsProgram('nginx', 'nginx-light')
const errorOf = async (answer: Response) => (await answer.json() as { error?: number }).error
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

for (const [signal, places] of [['SIGTERM', 'ports'], ['SIGKILL', 'ports'], ['SIGTERM', 'Unix sockets']] as const) {
  t.test(`two processes on MongoDB, on ${places}, restarted in turn with ${signal}: every request gets its 200, and its plant is stored once`, withNginx, async t => {
    const folder = testFolder(t)
    const mongo = await ScriptedMongo.start(t)
    const listens = places === 'ports'
      ? [{ PORT: `${await closedPort()}` }, { PORT: `${await closedPort()}` }]
      : [{ HOST: join(folder, '1.sock') }, { HOST: join(folder, '2.sock') }]
    const start = async (place: NodeJS.ProcessEnv) => {
      const process = launch(t, { ...place, ACCESS_TOKENS: token, MONGODB_URL: mongo.url })
      return { process, address: await process.ready() }
    }
    const running = await Promise.all(listens.map(start))
    const url = await startNginx(t, running.map(({ address }) => address.replace('http://', '')))
    const clients = new PlantClients(overHttp(url, token))
    const stop = clients.start(16)
    await clients.create()
    for (const turn of [0, 1, 0, 1]) {
      await running[turn]?.process.end(signal)
      running[turn] = await start(listens[turn] as NodeJS.ProcessEnv)
    }
    await stop()
    t.strictSame(Object.keys(clients.counts), ['200'])
    t.ok(clients.acknowledged.length > 100, `${clients.acknowledged.length} requests`)
    t.equal(mongo.majority().size, clients.acknowledged.length)
  })
}

t.test('nginx and the service have the same limits for bodies and headers, with the same error numbers', withNginx, async t => {
  const { address } = await startService(t)
  const host = address.slice('http://'.length)
  const url = await startNginx(t, [host, host])
  const plant = (bytes: number) => JSON.stringify({ id: 1, name: 'x'.repeat(bytes - '{"id":1,"name":""}'.length) })
  for (const base of [url, address]) {
    const largest = await fetch(`${base}/plants`, { method: 'POST', headers, body: plant(1_048_576) })
    t.equal(largest.status, 200, 'a body of BODY_LIMIT bytes')
    const larger = await fetch(`${base}/plants`, { method: 'POST', headers, body: plant(1_048_577) })
    t.strictSame([larger.status, await errorOf(larger)], [413, 41301], 'one more byte')
    const longest = await fetch(`${base}/health/live`, { headers: { long: 'x'.repeat(15_000) } })
    t.equal(longest.status, 200, 'a header of 15,000 bytes')
    const longer = await fetch(`${base}/health/live`, { headers: { long: 'x'.repeat(17_000) } })
    t.strictSame([longer.status, await errorOf(longer)], [431, 43101], 'a header of 17,000 bytes')
  }
})

t.test('the responses that nginx generates have the Error shape and a unique id', withNginx, async t => {
  const server = await service(t, (_body, response) => response.end('{}'))
  const url = await startNginx(t, [server, server])
  const requests: [number, number, ...string[]][] = [
    [400, 40000, 'not HTTP', '', ''],
    [400, 40000, 'GET / HTTP/3.7', 'Host: h', '', ''],
    [400, 40000, 'GET / HTTP/1.1', '', ''],
    [400, 40000, 'GET / HTTP/1.1', 'Host: a', 'Host: b', '', ''],
    [400, 40000, 'POST /plants HTTP/1.1', 'Host: h', 'Transfer-Encoding: chunked', '', 'zz', ''],
    [400, 40000, 'POST /plants HTTP/1.1', 'Host: h', 'Transfer-Encoding: unknown', '', ''],
    [404, 40401, 'GET /plant-store-error HTTP/1.1', 'Host: h', '', ''],
    [405, 40501, 'TRACE /plants HTTP/1.1', 'Host: h', '', ''],
    [413, 41301, 'POST /plants HTTP/1.1', 'Host: h', 'Content-Length: 1048577', '', ''],
    [413, 41301, 'POST /elsewhere HTTP/1.1', 'Host: h', 'Content-Length: 1048577', '', ''],
    [431, 43101, `GET /${'x'.repeat(17_000)} HTTP/1.1`, 'Host: h', '', ''],
    [431, 43101, 'GET / HTTP/1.1', 'Host: h', `Long: ${'x'.repeat(17_000)}`, '', '']
  ]
  const ids = new Set()
  for (const [status, error, ...lines] of requests) {
    const connection = await RawConnection.open(t, Number(new URL(url).port))
    const answer = await connection.write(...lines).answer()
    const { message, ...rest } = JSON.parse(answer.body)
    t.strictSame([answer.status, rest, typeof message], [status, { error }, 'string'], (lines[0] as string).slice(0, 40))
    t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    t.equal(answer.headers.allow, status === 405 ? 'POST' : undefined)
    t.match(answer.headers['x-request-id'], /^[\da-f]{32}$/)
    ids.add(answer.headers['x-request-id'])
  }
  t.equal(ids.size, requests.length, 'ids are unique')
})

t.test('responses reach the client unchanged, with the necessary headers', withNginx, async t => {
  const seen: (string | undefined)[] = []
  const server = await service(t, (_body, response) => {
    const { 'x-request-id': id, 'x-forwarded-for': client } = response.req.headers
    seen.push(String(id), String(client))
    response.writeHead(400, { 'content-type': 'application/json', 'x-request-id': id }).end('{"error":40003,"message":"name must be a string"}')
  })
  const url = await startNginx(t, [server, server])
  const answer = await fetch(`${url}/plants`, { method: 'POST', headers: { ...headers, 'x-request-id': 'spoofed', 'x-forwarded-for': '192.0.2.1' }, body: '{}' })
  t.strictSame([answer.status, await answer.json()], [400, { error: 40003, message: 'name must be a string' }])
  t.strictSame(seen, [answer.headers.get('x-request-id'), '127.0.0.1'], 'headers set by the client are replaced')
  t.match(seen[0], /^[\da-f]{32}$/)
})

t.test('if both services fail, the response is truthful', withNginx, async t => {
  const refusal = (response: ServerResponse) => response.writeHead(503, { 'retry-after': '7', 'content-type': 'application/json' }).end('{"error":50301,"message":"as it was sent"}')
  // Each character of the body tells one server what to do, in the order in which nginx tries them.
  let asked = 0
  const act = (body: string, response: ServerResponse) => {
    const action = body[asked++]
    if (action === 'd') response.req.socket.destroy()
    else if (action === '3') refusal(response)
    else response.end('{}')
  }
  const url = await startNginx(t, [await service(t, act), await service(t, act)])
  const send = async (body: string) => {
    asked = 0
    const answer = await fetch(`${url}/plants`, { method: 'POST', headers, body })
    return [answer.status, await errorOf(answer), answer.headers.get('retry-after')]
  }
  t.strictSame(await send('d2'), [200, undefined, null], 'one failed, the other stored')
  t.strictSame(await send('32'), [200, undefined, null], 'one refused, the other stored')
  t.strictSame(await send('33'), [503, 50301, '7'], 'both refused: not stored')
  t.strictSame(await send('d333'), [504, 50401, null], 'one failed, the other refused: the first may have stored')
  t.strictSame(await send('3d33'), [504, 50401, null], 'the same in the other order')
  t.strictSame(await send('ddd2'), [200, undefined, null], 'both failed, and one has recovered')
  t.strictSame(await send('ddddd'), [504, 50401, null], 'both failed')

  const none = await startNginx(t, [`127.0.0.1:${await closedPort()}`, `127.0.0.1:${await closedPort()}`])
  const answer = await fetch(`${none}/plants`, { method: 'POST', headers, body: '{}' })
  t.strictSame([answer.status, await errorOf(answer)], [504, 50401], 'none is running')
})

/** Starts nginx with docs/deploy/nginx.conf in front of servers, named as in an upstream; returns its URL. */
async function startNginx (t: Test, servers: readonly string[]): Promise<string> {
  const folder = testFolder(t)
  const port = await closedPort()
  let configuration = readFileSync(projectFile('docs/deploy/nginx.conf'), 'utf8')
  const lines = servers.map(server => `server ${server} max_fails=0;`).join('\n')
  for (const [from, to] of [['server plants1:3000 max_fails=0;', lines], ['server plants2:3000 max_fails=0;', ''], ['listen 80;', `listen 127.0.0.1:${port};`]] as const) {
    if (configuration.split(from).length !== 2) throw new Error(`docs/deploy/nginx.conf must have "${from}" once`)
    configuration = configuration.replace(from, to)
  }
  writeFileSync(join(folder, 'plant-store.conf'), configuration)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(kind => `${kind}_temp_path ${join(folder, kind)};`)
  writeFileSync(join(folder, 'nginx.conf'), `
    daemon off; pid ${join(folder, 'pid')}; error_log ${join(folder, 'error.log')} warn; ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {}
    http { access_log off; ${temporary.join(' ')} include ${join(folder, 'plant-store.conf')}; }`)
  const nginx = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(async () => {
    nginx.kill('SIGTERM')
    if (nginx.exitCode === null) await once(nginx, 'exit')
  })
  const url = `http://127.0.0.1:${port}`
  while (!await fetch(url, { method: 'HEAD' }).then(() => true, () => false)) {
    if (nginx.exitCode !== null) throw new Error(`nginx exited with ${nginx.exitCode}`)
    await sleep(20)
  }
  return url
}

/** Starts a server that calls `respond` with each request's body; returns its address. */
async function service (t: Test, respond: (body: string, response: ServerResponse) => void): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    if (body !== '') respond(body, response)
    else response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
