import t from 'tap'
import { errorCodes } from '../../src/http/error-codes.js'
import { buildService, TOKEN } from '../support/http/service.js'
import { forgetfulStore } from '../support/stores/forgetful-store.js'

t.test('/openapi.json describes everything a client needs, and is served without a token', async t => {
  const { app } = await buildService(t, forgetfulStore())
  const response = await app.inject({ url: '/openapi.json' })
  t.equal(response.statusCode, 200)
  t.match(response.headers['content-type'], /^application\/json/)
  t.notMatch(response.body, TOKEN)
  const document = response.json()
  t.match(document, {
    openapi: /^3\.1\./, info: { title: String, version: /^\d+\.\d+\.\d+/, license: { name: 'MIT', identifier: 'MIT' } }, servers: [{ url: '/' }]
  })
  t.match(document.components.securitySchemes, { bearer: { type: 'http', scheme: 'bearer' } })
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
  t.match(NewPlant, { type: 'object', properties: { id: { type: 'integer', format: 'int64', examples: [Number] }, ...fields } })
  t.match(Plant, { type: 'object', properties: fields })
  t.match(Error, { properties: { error: { type: 'integer', format: 'int32' }, message: { type: 'string' } } })
  t.strictSame([NewPlant.required, Plant.required, Error.required], [['id', 'name'], ['name'], ['error', 'message']])
  t.strictSame([Object.keys(NewPlant.properties), Object.keys(Plant.properties)], [['id', 'name', 'tag'], ['name', 'tag']])

  const statuses = new Set(Object.values(errorCodes).map(([status]) => String(status)))
  t.strictSame([...statuses].sort(), ['400', '401', '404', '405', '408', '413', '415', '431', '500', '503', '504'])
  t.strictSame(new Set(Object.keys(post.responses)), new Set(['200', ...statuses]))
  for (const status of statuses) {
    const { description, content } = post.responses[status]
    const { schema, examples } = content['application/json']
    t.strictSame(schema, { $ref: '#/components/schemas/Error' })
    for (const [name, [errorStatus, error, message]] of Object.entries(errorCodes)) {
      if (String(errorStatus) !== status) continue
      t.match(description, String(error))
      t.strictSame(examples[name].value, { error, message })
    }
  }
  for (const [status, header] of [[401, 'WWW-Authenticate'], [405, 'Allow'], [503, 'Retry-After']] as const) {
    t.strictSame(Object.keys(post.responses[status].headers), [header, 'X-Request-Id'])
  }
  for (const path of ['/health/live', '/health/ready']) {
    const { security, responses } = document.paths[path].get
    t.strictSame(security, [], `${path} takes no token`)
    t.strictSame(Object.keys(responses[400].content['application/json'].examples), ['requestMalformed'], `${path} reads no body`)
  }
  t.match(document.components.schemas.Status, { required: ['status'], properties: { status: { enum: ['ok'] } } })
  t.strictSame(Object.keys(document.paths['/health/ready'].get.responses[503].headers), ['Retry-After', 'X-Request-Id'])
})
