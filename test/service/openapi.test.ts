import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { errorCodes } from '../../src/api-error.js'
import { readConfiguration } from '../../src/service/configuration/configuration.js'
import { RawConnection } from '../support/http/raw-connection.js'
import { answersError, buildService, serve, TOKEN } from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'
import { until } from '../support/until.js'

const { app, port } = await serve(t, forgetfulStore(), { DOCS: true })

t.test('/openapi.json describes everything a client needs, and is served without a token', async t => {
  const response = await app.inject({ url: '/openapi.json' })
  t.equal(response.statusCode, 200)
  t.match(response.headers['content-type'], /^application\/json/)
  t.notMatch(response.body, TOKEN)
  const document = response.json()
  t.match(document, {
    openapi: /^3\.1\./,
    info: { title: String, version: /^\d+\.\d+\.\d+/, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '.' }]
  })
  const bearer = { type: 'http', scheme: 'bearer', description: /ACCESS_TOKENS/ }
  t.match(document.components.securitySchemes, { bearer })
  t.strictSame(Object.keys(document.paths).sort(), ['/health/live', '/health/ready', '/plants'])
  t.strictSame(Object.keys(document.paths['/plants']), ['post'])

  const { post } = document.paths['/plants']
  t.equal(post.operationId, 'createPlant')
  t.strictSame(post.security, [{ bearer: [] }])
  t.equal(post.requestBody.required, true)
  t.strictSame(post.requestBody.content, { 'application/json': { schema: { $ref: '#/components/schemas/NewPlant' } } })
  t.strictSame(post.responses[200].content['application/json'].schema, { $ref: '#/components/schemas/Plant' })
  const { NewPlant, Plant, Error } = document.components.schemas
  const fields = { name: { type: 'string' }, tag: { type: 'string' } }
  t.match(NewPlant, {
    type: 'object', properties: { id: { type: 'integer', format: 'int64', examples: [Number] }, ...fields }
  })
  t.match(Plant, { type: 'object', properties: fields })
  t.match(Error, { properties: { error: { type: 'integer', format: 'int32' }, message: { type: 'string' } } })
  t.strictSame([NewPlant.required, Plant.required, Error.required], [['id', 'name'], ['name'], ['error', 'message']])
  t.strictSame(
    [Object.keys(NewPlant.properties), Object.keys(Plant.properties)], [['id', 'name', 'tag'], ['name', 'tag']]
  )

  const statuses = new Set(Object.values(errorCodes).map(([status]) => String(status)))
  t.strictSame([...statuses].sort(), ['400', '401', '404', '405', '408', '413', '415', '431', '500', '503', '504'])
  // Any request may get these: the description of the whole service names them.
  const common = ['404', '405', '408', '431']
  for (const status of common) t.match(document.info.description, new RegExp(`${status} \\(${status}01, `))
  const ofRoute = [...statuses].filter(status => !common.includes(status))
  t.strictSame(new Set(Object.keys(post.responses)), new Set(['200', ...ofRoute]))
  for (const status of ofRoute) {
    const { description, content } = post.responses[status]
    const { schema, examples } = content['application/json']
    t.strictSame(schema, { $ref: '#/components/schemas/Error' })
    for (const [name, [errorStatus, error, message]] of Object.entries(errorCodes)) {
      if (String(errorStatus) !== status) continue
      t.match(description, String(error))
      t.strictSame(examples[name].value, { error, message })
    }
  }
  for (const [status, header] of [[401, 'WWW-Authenticate'], [503, 'Retry-After']] as const) {
    t.strictSame(Object.keys(post.responses[status].headers), [header, 'X-Request-Id'])
  }
  for (const path of ['/health/live', '/health/ready']) {
    const { security, responses } = document.paths[path].get
    t.strictSame(security, [], `${path} takes no token`)
    t.strictSame(
      Object.keys(responses[400].content['application/json'].examples), ['requestMalformed'], `${path} reads no body`
    )
  }
  t.match(document.components.schemas.Health, { required: ['status'], properties: { status: { enum: ['ok'] } } })
  t.match(document.paths['/plants'].post.responses[503].headers['Retry-After'].schema, { type: 'integer' })
  t.strictSame(Object.keys(document.paths['/health/ready'].get.responses[503].headers), ['Retry-After', 'X-Request-Id'])
  for (const [path, description] of [['/health/live', 'Healthy'], ['/health/ready', 'Ready']] as const) {
    const { responses } = document.paths[path].get
    t.equal(responses[200].description, description)
    t.strictSame(responses[200].content['application/json'].schema, { $ref: '#/components/schemas/Health' })
  }
})

t.test('without the API page, the document is the same', async t => {
  const { app: bare } = await buildService(t, forgetfulStore(), { DOCS: false })
  const [withPage, without] = [await app.inject({ url: '/openapi.json' }), await bare.inject({ url: '/openapi.json' })]
  t.strictSame(without.json(), withPage.json())
})

t.test('the API page, to which GET / leads, is off in production by default, and with DOCS=false', async t => {
  const production = { NODE_ENV: 'production', ACCESS_TOKENS: TOKEN }
  t.strictSame(
    [{}, { ...production, DOCS: 'true' }, production, { DOCS: 'false' }].map(env => readConfiguration(env).DOCS),
    [true, true, false, false]
  )
  t.equal((await app.inject('/docs')).statusCode, 200)
  t.match(await app.inject('/'), { statusCode: 302, headers: { location: './docs' } })
  const without = await buildService(t, forgetfulStore())
  answersError(t, await without.app.inject('/docs'), 40401, notFound)
  answersError(t, await without.app.inject('/'), 40401, notFound)
  t.equal((await without.app.inject('/openapi.json')).statusCode, 200)
})

const notFound = /^There is no such endpoint/

t.test('behind a proxy that strips a prefix, the API page, its files and the document are found', async t => {
  const proxy = createServer((request, response) => {
    const path = String(request.url).replace(/^\/behind\/a\/prefix(?=\/)/, '')
    if (path === request.url) return response.writeHead(502).end()
    httpRequest({ port, path, method: request.method, headers: request.headers }, answer => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    }).end()
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => proxy.close().closeAllConnections())
  const root = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/behind/a/prefix`
  t.equal((await fetch(`${root}/`)).url, `${root}/docs`)
  for (const page of [`${root}/docs`, `${root}/docs/`]) {
    const links = (await (await fetch(page)).text()).match(/(?<=(?:href|src)=")[^"]+/g) ?? []
    t.ok(links.length > 5)
    for (const link of links) t.equal((await fetch(new URL(link, page))).status, 200, `${link} of ${page}`)
  }
  // A client takes the server as relative to the document.
  const document = `${root}/openapi.json`
  const { servers: [server] } = await (await fetch(document)).json() as { servers: [{ url: string }] }
  t.equal(new URL(server.url, document).href, `${root}/`)
})

t.test('a file whose client has left is closed, pipelined ones too', async t => {
  const files = () => readdirSync('/dev/fd').length
  const before = files()
  for (let client = 0; client < 20; client++) {
    const connection = await RawConnection.open(t, port)
    const file = ['GET /docs/static/swagger-ui-bundle.js HTTP/1.1', 'Host: a', '', '']
    for (let time = 0; time < 3; time++) connection.write(...file)
    await once(connection.socket, 'data')
    connection.socket.destroy()
  }
  await until(() => files() <= before + 5)
  t.pass()
})

t.test('the API page loads nothing from another origin, and its files over plain HTTP', async t => {
  const { headers } = await app.inject('/docs')
  t.match(headers['content-security-policy'], /^default-src 'self';/)
  t.notMatch(headers['content-security-policy'], /https:|upgrade-insecure-requests|[.]io/)
})

t.test('below /docs, an unknown path, a range without bytes and a false precondition are 404, 40401', async t => {
  for (const path of [
    '/nothing', '/static/nothing', '/static/%00', '/static/..%2fx', '/static//x', '/static/.x', '/static/%5cx'
  ]) {
    const response = await app.inject(`/docs${path}`)
    answersError(t, response, 40401, notFound, path)
    t.match(response.headers['x-request-id'], /^[\w-]{12}-\w+$/, path)
  }
  const url = '/docs/static/index.css'
  for (const headers of [
    { range: 'bytes=99999999-' }, { 'if-match': '"x"' }, { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }
  ]) {
    answersError(t, await app.inject({ url, headers }), 40401, notFound, Object.keys(headers).join())
  }
  const { statusCode, headers: { etag } } = await app.inject(url)
  t.equal(statusCode, 200)
  t.equal((await app.inject({ url, headers: { 'if-none-match': etag } })).statusCode, 304)
})
