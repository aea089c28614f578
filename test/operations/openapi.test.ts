import t from 'tap'
import { apiErrors } from '../../src/api-error.js'
import { startService } from '../program.js'

t.test('the description tells all that a client needs', async t => {
  const service = await startService(t, { DOCS: 'false' })
  const response = await fetch(`${service.address}/openapi.json`)
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), 'application/json')
  const document = await response.json() as any
  t.match(document, { openapi: /^3\.1/, info: { license: { name: 'MIT', identifier: 'MIT' } }, servers: [{ url: '/' }] })
  t.match(document.components.securitySchemes, { bearer: { type: 'http', scheme: 'bearer' } })
  t.strictSame(Object.keys(document.paths).sort(), ['/health/live', '/health/ready', '/plants'])

  const { post } = document.paths['/plants']
  t.equal(post.operationId, 'createPlant')
  t.strictSame(post.security, [{ bearer: [] }])
  t.equal(post.requestBody.required, true)
  t.strictSame(post.requestBody.content, { 'application/json': { schema: { $ref: '#/components/schemas/NewPlant' } } })
  const { NewPlant, Plant, Error } = document.components.schemas
  t.match(NewPlant, { required: ['id', 'name'], properties: { id: { type: 'integer', format: 'int64', examples: [Number] }, name: { type: 'string' }, tag: { type: 'string' } } })
  t.strictSame([Plant.required, Object.keys(Plant.properties)], [['name'], ['name', 'tag']])
  t.match(Error, { required: ['error', 'message'], properties: { error: { type: 'integer', format: 'int32' }, message: { type: 'string' } } })

  const statuses = new Set(Object.values(apiErrors).map(([status]) => String(status)))
  t.strictSame(new Set(Object.keys(post.responses)), new Set(['200', ...statuses]))
  for (const status of statuses) {
    const { description, content } = post.responses[status]
    const { schema, examples } = content['application/json']
    t.strictSame(schema, { $ref: '#/components/schemas/Error' })
    for (const [name, [, error, message]] of Object.entries(apiErrors).filter(([, row]) => String(row[0]) === status)) {
      t.match(description, String(error))
      t.strictSame(examples[name].value, { error, message })
    }
  }
  t.strictSame(Object.keys(post.responses[401].headers), ['WWW-Authenticate'])
  t.strictSame(Object.keys(post.responses[405].headers), ['Allow'])
  t.strictSame(Object.keys(post.responses[503].headers), ['Retry-After'])
  t.strictSame(document.paths['/health/ready'].get.security, [])
  t.ok(document.paths['/health/ready'].get.responses[503].description)
})
