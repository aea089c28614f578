import t, { type Test } from 'tap'
import { listen, RawConnection, type RawAnswer } from '../../support/http/raw-connection.js'
import { buildService, TOKEN } from '../../support/http/service.js'
import { forgetfulStore } from '../../support/stores/forgetful-store.js'

// Details of responses over a socket; their statuses are in hostile-requests.test.ts.

const BODY = '{"id":1,"name":"x"}'
const HEAD = ['POST /plants HTTP/1.1', 'Host: localhost']
const TYPE = 'Content-Type: application/json'
const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`
const LENGTH = `Content-Length: ${BODY.length}`

async function serve (t: Test, configuration = {}) {
  const store = forgetfulStore()
  const { app } = await buildService(t, store, configuration)
  const port = await listen(app)
  t.teardown(() => app.server.closeAllConnections())
  return { app, store, port, connect: () => RawConnection.open(t, port) }
}

function refused (t: Test, { status, headers, body }: RawAnswer, error: number, name: string): void {
  t.strictSame({ status, type: headers['content-type'], error: JSON.parse(body).error },
    { status: Math.floor(error / 100), type: 'application/json; charset=utf-8', error }, name)
  t.match(JSON.parse(body).message, /\w/, name)
}

t.test('a repeated header that must be unique is refused with a message that names it', async t => {
  const { connect, store } = await serve(t)
  for (const [name, error, ...lines] of [
    ['authorization', 40101, TYPE, AUTHORIZATION, AUTHORIZATION],
    ['host', 40000, TYPE, AUTHORIZATION, 'host: elsewhere'],
    ['content-type', 40000, TYPE, AUTHORIZATION, TYPE]
  ] as const) {
    const answer = await (await connect()).write(...HEAD, ...lines, LENGTH, '', BODY).answer()
    refused(t, answer, error, name)
    t.equal(JSON.parse(answer.body).message, `There is more than one ${name} header: send one`)
    if (error === 40101) t.equal(answer.headers['www-authenticate'], 'Bearer realm="plant-store", error="invalid_token", error_description="there is more than one Authorization header"')
  }
  t.equal(store.plants.length, 0)
})

t.test('a body over the limit is refused before it arrives, and the connection is closed', async t => {
  const { connect } = await serve(t, { BODY_LIMIT: 50 })
  const chunk = ['28', 'x'.repeat(40)]
  for (const [name, ...lines] of [
    ['by its Content-Length', 'Content-Length: 51', '', ''],
    ['in chunks', 'Transfer-Encoding: chunked', '', ...chunk, ...chunk, '']
  ] as const) {
    const answer = await (await connect()).write(...HEAD, TYPE, AUTHORIZATION, ...lines).answer()
    refused(t, answer, 41301, name)
    t.equal(answer.headers.connection, 'close', 'the server does not wait for the rest')
  }
})
