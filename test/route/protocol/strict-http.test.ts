import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Configuration } from '../../../src/config/configuration.js'
import type { PlantStore } from '../../../src/plant-store.js'
import { exchange, RawConnection } from '../../support/http/raw-connection.js'
import { AUTHORIZATION, HEAD, JSON_TYPE, serve } from '../../support/http/service.js'

const create = (id: number, ...headers: string[]) => {
  const body = `{"id":${id},"name":"plant ${id}"}`
  return [...HEAD, ...headers, `Content-Length: ${body.length}`, '', body].join('\r\n')
}

async function serveWithIds (t: Test, configuration: Partial<Configuration> = {}) {
  const ids: bigint[] = []
  const store: PlantStore = { create: async ({ id }) => { ids.push(id); await sleep(20); return 'stored' } }
  const { port } = await serve(t, store, { DOCS: true, ...configuration })
  return { ids, port }
}

const requestLines = ['GET /health/live', 'GET /health/ready', 'GET /openapi.json', 'GET /docs', 'GET /docs/static/index.css', 'GET /nowhere', 'GET /%zz', 'PUT /plants', 'POST /plants']

t.test('on every path, a repeated, invalid or missing Host header is 400, 40000', async t => {
  const { port, ids } = await serveWithIds(t)
  const wrong = [
    ['Host: a', 'Host: b'], ['Host: a', 'host: a'], ['Host: :80'], ['Host: a b'], ['Host: a/b'], ['Host: user@a'], ['Host: a:b'], ['Host: http://a'], ['Host: [::1'],
    ['Host: ::1'], ['Host: a, b'], ['Host: a%'], ['Host: \xe9'], ['Host: "a"'], ['Host: a', 'Content-Type: a/b', 'content-type: a/b'], []
  ]
  for (const line of requestLines) {
    for (const headers of wrong) {
      const { answers } = await exchange(port, [`${line} HTTP/1.1`, ...headers, AUTHORIZATION, '', ''].join('\r\n'))
      t.match(answers, [{ status: 400, headers: { connection: 'close' }, body: /^{"error":40000,"message":".+"}$/ }], `${line}, ${headers}`)
    }
  }
  t.strictSame(ids, [])
})

t.test('a repeated header that must be unique is refused with a message that names it', async t => {
  const { port, ids } = await serveWithIds(t)
  for (const [name, error, header] of [['authorization', 40101, AUTHORIZATION], ['host', 40000, 'host: elsewhere'], ['content-type', 40000, JSON_TYPE]] as const) {
    const { answers: [answer] } = await exchange(port, create(1, header))
    t.match(answer, { status: Math.floor(error / 100), headers: { 'content-type': 'application/json; charset=utf-8' } }, name)
    t.strictSame(JSON.parse(answer?.body ?? ''), { error, message: `There is more than one ${name} header: send one` })
    if (error === 40101) t.match(answer?.headers['www-authenticate'], /^Bearer realm="plant-store", error="invalid_token", error_description=".+"$/)
  }
  t.strictSame(ids, [])
})

t.test('every valid Host is accepted', async t => {
  const { port } = await serveWithIds(t)
  for (const host of ['', 'a', 'a.example', 'A.example.', 'a_b', 'a:80', 'a:', '127.0.0.1:3000', '[::1]', '[::1]:3000', '[::ffff:127.0.0.1]', '[v1.a:b]', 'a%20b', 'xn--bcher-kva.example', '1', "!$&'()*+,;=-._~"]) {
    t.match((await exchange(port, `GET /health/live HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).answers, [{ status: 200 }], host)
  }
  t.match((await exchange(port, 'GET /health/live HTTP/1.0\r\n\r\n')).answers, [{ status: 200 }], 'HTTP/1.0 without Host')
  t.match((await exchange(port, 'GET /health/live HTTP/1.0\r\nHost: a b\r\n\r\n')).answers, [{ status: 400 }], 'HTTP/1.0 with an invalid Host')
})

t.test('an HTTP version other than 1.0 and 1.1, or none, is 400, 40000', async t => {
  const { port, ids } = await serveWithIds(t)
  for (const line of requestLines) {
    for (const version of ['', ' HTTP/0.9', ' HTTP/1.2', ' HTTP/2.0', ' HTTP/2', ' HTTP/3.0', ' http/1.1', ' HTTP/11', ' ICE/1.1']) {
      const { answers, closed } = await exchange(port, [`${line}${version}`, 'Host: a', AUTHORIZATION, '', ''].join('\r\n'), { expected: Infinity })
      t.match(answers, [{ status: 400, body: /^{"error":40000,"message":".+"}$/ }], line + version)
      t.ok(closed, 'the connection is closed')
    }
  }
  t.strictSame(ids, [])
})

t.test('an Upgrade is ignored, and the connection goes on', async t => {
  const { port, ids } = await serveWithIds(t)
  const java = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA']
  const connection = await RawConnection.open(t, port)
  for (const id of [1, 2, 3]) {
    t.match(await connection.write(create(id, ...java)).answer(), { status: 200, headers: { connection: 'keep-alive' }, body: `{"name":"plant ${id}"}` })
  }
  t.strictSame(ids, [1n, 2n, 3n])
  for (const line of requestLines.slice(0, -1)) {
    connection.write(`${line} HTTP/1.1`, 'Host: a', 'Connection: Upgrade', 'Upgrade: websocket', '', '')
    t.match(await connection.answer(), { headers: { connection: 'keep-alive' } }, line)
  }
})

t.test('a client that expects 100 Continue gets it, and then the response', async t => {
  const { port, ids } = await serveWithIds(t)
  const body = '{"id":1,"name":"x"}'
  for (const [status, ...headers] of [[200, AUTHORIZATION], [401]] as [number, ...string[]][]) {
    const connection = await RawConnection.open(t, port)
    connection.write('POST /plants HTTP/1.1', 'Host: a', 'Expect: 100-continue', JSON_TYPE, `Content-Length: ${body.length}`, ...headers, '', '')
    t.equal((await connection.answer()).status, 100)
    t.equal((await connection.write(body).answer()).status, status)
  }
  t.strictSame(ids, [1n])
})
