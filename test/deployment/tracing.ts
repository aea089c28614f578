/*
 * Installs OpenTelemetry, loads docs/deploy/tracing.js into the service and into a host, and checks the spans that they
 * send: `node build/test/deployment/tracing.js`. OpenTelemetry has about a hundred packages, so it is not a dependency.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { documented } from '../support/documented.js'
import { closedPort } from '../support/process/lasting-port.js'
import { compiledPackage, program } from '../support/process/project.js'

const VERSIONS: Record<string, string> = { '@opentelemetry/api': '1', '@opentelemetry/sdk-node': '0.223.0', '@fastify/otel': '0.21.2' }
const [install = '', start = ''] = documented('docs/operations.md', '--import ./docs/deploy/tracing.js').split('\n')
const TOKEN = 'a-token-for-the-tracing-test'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

/** A span in OTLP's JSON, https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. */
interface Span {
  traceId: string
  spanId: string
  name: string
  attributes: { key: string, value: { stringValue?: string, intValue?: number | string } }[]
  links?: { spanId: string }[]
}

const folder = mkdtempSync(join(tmpdir(), 'plant-store-tracing-'))
writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
const pinned = install.replaceAll(/@[\w-]+\/[\w-]+/g, name => `${name}@${VERSIONS[name]}`)
execFileSync('sh', ['-c', `${pinned} --silent --no-audit --no-fund --ignore-scripts`], { cwd: folder, stdio: 'inherit' })
cpSync('docs/deploy/tracing.js', join(folder, 'tracing.js'))
// A host that resolves fastify and plant-store as if they were installed.
writeFileSync(join(folder, 'host.js'), `
  import { createRequire } from 'node:module'
  import { pathToFileURL } from 'node:url'
  const find = name => pathToFileURL(createRequire(${JSON.stringify(join(compiledPackage, 'package.json'))}).resolve(name)).href
  const { default: fastify } = await import(find('fastify'))
  const { default: plantStore, sqlitePlantStore } = await import(find('plant-store'))
  const app = fastify()
  app.register(plantStore, { prefix: '/v1', store: sqlitePlantStore({ path: process.env.DATA_DIR + '/host.db' }), tokens: [process.env.ACCESS_TOKENS] })
  app.get('/garden/:name', (request, reply) => reply.code(418).send('a teapot'))
  process.on('SIGTERM', () => app.close())
  await app.listen({ port: Number(process.env.PORT) })
`)

const spans: Span[] = []
const collector = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  if (request.url === '/v1/traces') for (const resource of JSON.parse(body).resourceSpans) for (const scope of resource.scopeSpans) spans.push(...scope.spans)
  response.setHeader('content-type', 'application/json').end('{}')
})
await once(collector.listen(0, '127.0.0.1'), 'listening')
const { port } = collector.address() as AddressInfo

/** Starts a program, sends the requests and stops it; returns its spans. */
async function traced (script: string, send: (url: string) => Promise<unknown>): Promise<Span[]> {
  spans.length = 0
  const PORT = String(await closedPort())
  const command = start.replace('http://127.0.0.1:4318', `http://127.0.0.1:${port}`).replace('./docs/deploy', folder).replace('dist/service/main.js', script).replace(' node ', ` exec ${process.execPath} `)
  const child = spawn('sh', ['-c', command], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      PATH: process.env.PATH,
      PORT,
      DATA_DIR: folder,
      ACCESS_TOKENS: TOKEN,
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
      NODE_ENV: 'production',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json'
    }
  })
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${PORT}`
  while (!await fetch(url).then(() => true, () => false)) await new Promise(resolve => setTimeout(resolve, 50))
  await send(url)
  child.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
  const probes = spans.filter(span => value(span, 'url.path') === '/').map(({ traceId }) => traceId)
  return spans.filter(({ traceId }) => !probes.includes(traceId))
}

const value = (span: Span, key: string) => {
  const { stringValue, intValue } = span.attributes.find(attribute => attribute.key === key)?.value ?? {}
  return stringValue ?? (intValue === undefined ? undefined : Number(intValue))
}

async function create (url: string, id: number, headers: object = {}): Promise<number> {
  const response = await fetch(url, {
    method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers }, body: JSON.stringify({ id, name: 'Monstera' })
  })
  await response.text()
  return response.status
}

function check (spans: Span[], route: string, count: number): void {
  const requests = spans.filter(span => value(span, 'http.route') === route)
  const stored = requests.filter(span => value(span, 'http.response.status_code') === 200)
  assert.equal(stored.length, count, 'one span for each request')
  assert.ok(stored.every(span => span.name === `POST ${route}` && value(span, 'plant_store.outcome') === 'stored'))
  assert.equal(requests.filter(span => value(span, 'http.response.status_code') === 401).length, 1)
  assert.equal(stored.filter(span => span.traceId === TRACE).length, 1, 'an incoming trace is continued')

  const batches = spans.filter(span => span.name === 'plant-store batch')
  assert.ok(batches.length < count, 'some requests share a batch')
  for (const batch of batches) {
    const sharing = stored.filter(span => span.links?.some(({ spanId }) => spanId === batch.spanId))
    assert.equal(sharing.length, value(batch, 'plant_store.plants'), 'each request has a link to its batch')
  }
  assert.equal(spans.length, requests.length + batches.length, 'no other spans')
}

const createPlants = async (url: string) => {
  const statuses = await Promise.all(Array.from({ length: 50 }, async (_, id) => create(url, id)))
  statuses.push(await create(url, 50, { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` }))
  assert.ok(statuses.every(status => status === 200))
  assert.equal(await create(url, 51, { authorization: 'Bearer unknown-token' }), 401)
}

check(await traced(program, url => createPlants(`${url}/plants`)), '/plants', 51)
const inHost = await traced(join(folder, 'host.js'), async url => {
  await createPlants(`${url}/v1/plants`)
  assert.equal((await fetch(`${url}/garden/monstera`)).status, 418)
})
const [own] = inHost.filter(span => value(span, 'http.route') === '/garden/:name')
assert.deepEqual([own?.name, own && value(own, 'http.response.status_code')], ['GET /garden/:name', 418])
check(inHost.filter(span => span !== own), '/v1/plants', 51)

collector.close()
rmSync(folder, { recursive: true })
console.log('the service and a host send one span for each request, and one for each batch')
