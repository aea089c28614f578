import t from 'tap'
import { RawConnection } from '../support/http/raw-connection.js'
import { answersError, buildService, serve } from '../support/http/service.js'
import { openDescriptors, withDescriptors } from '../support/process/open-descriptors.js'
import { startService } from '../support/process/program.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { until } from '../support/until.js'

t.test('the API page is off in production by default, and with DOCS=false', async t => {
  const inProduction = await startService(t, { NODE_ENV: 'production' })
  t.equal((await fetch(`${inProduction.address}/docs`)).status, 404)
  t.notMatch(inProduction.stdout, '/docs')
  const enabled = await startService(t, { NODE_ENV: 'production', DOCS: 'true' }, { counted: true })
  t.equal((await fetch(`${enabled.address}/docs`)).status, 200)
  const off = await startService(t, { DOCS: 'false' })
  t.equal((await fetch(`${off.address}/docs`)).status, 404)
  t.equal((await fetch(`${off.address}/openapi.json`)).status, 200)
})

t.test('the API page loads nothing from another origin, and its files over plain HTTP', async t => {
  const { app } = await buildService(t, forgetfulStore(), { DOCS: true })
  const { headers } = await app.inject('/docs')
  t.match(headers['content-security-policy'], /^default-src 'self';/)
  t.notMatch(headers['content-security-policy'], /https:|upgrade-insecure-requests|[.]io/)
})

t.test('below /docs, an unknown path is 404, 40401, with an X-Request-Id', async t => {
  const { app } = await buildService(t, forgetfulStore(), { DOCS: true })
  const message = /^There is no such endpoint/
  for (const path of ['/docs/nothing', '/docs/static/nothing', '/docs/static/%00', '/docs/static/..%2fx']) {
    const response = await app.inject(path)
    answersError(t, response, 40401, message, path)
    t.match(response.headers['x-request-id'], /^[\w-]{12}-\w+$/, path)
  }
  t.equal((await app.inject('/docs/static/swagger-ui.css')).statusCode, 200)
})

t.test('below /docs, a file is sent whole, even for a range that it does not have or a precondition that is false', async t => {
  const { app } = await buildService(t, forgetfulStore(), { DOCS: true })
  const whole = await app.inject('/docs/static/index.css')
  for (const [name, value] of [['range', 'bytes=99999999-'], ['if-match', '"x"'], ['if-unmodified-since', 'Thu, 01 Jan 1970 00:00:00 GMT']] as const) {
    const { statusCode, body } = await app.inject({ url: '/docs/static/index.css', headers: { [name]: value } })
    t.strictSame({ statusCode, body }, { statusCode: 200, body: whole.body }, name)
  }
  const { etag } = whole.headers
  t.equal((await app.inject({ url: '/docs/static/index.css', headers: { 'if-none-match': etag } })).statusCode, 304)
})

t.test('no file of the API page stays open after its client has disconnected', withDescriptors, async t => {
  const { port } = await serve(t, forgetfulStore(), { DOCS: true })
  const openFiles = () => openDescriptors('swagger-ui-bundle.js')
  const { socket } = await RawConnection.open(t, port)
  socket.pause().write('GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(50))
  await until(() => openFiles().length > 0)
  socket.destroy()
  await until(() => openFiles().length === 0)
  t.strictSame(openFiles(), [])
})
