import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { closedPort } from '../support/process/lasting-port.js'
import { needs } from '../support/process/needs.js'
import { compiledPackage, create, documented, program, projectFile, token } from '../support/process/program.js'

const VERSIONS: Record<string, string> = {
  '@opentelemetry/api': '1', '@opentelemetry/sdk-node': '0.223.0', '@fastify/otel': '0.21.2'
}
const [install = '', start = ''] = documented('--import ./docs/deploy/tracing.js').split('\n')
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

/** A span in OTLP's JSON, https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. */
interface Span {
  traceId: string
  spanId: string
  name: string
  attributes: { key: string, value: { stringValue?: string, intValue?: number | string } }[]
  links?: { spanId: string }[]
}

// OpenTelemetry has about a hundred packages, so it is not a dependency.
const folder = mkdtempSync(join(tmpdir(), 'plant-store-tracing-'))
t.teardown(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
cpSync(projectFile('docs/deploy/tracing.js'), join(folder, 'tracing.js'))
const pinned = install.replaceAll(/@[\w-]+\/[\w-]+/g, name => `${name}@${VERSIONS[name]}`)
const quietly = `${pinned} --silent --no-audit --no-fund --ignore-scripts`
const missing = await promisify(execFile)('sh', ['-c', quietly], { cwd: folder })
  .then(() => undefined, (error: Error) => `OpenTelemetry could not be installed: ${error.message}`)

const spans: Span[] = []
const collector = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  if (request.url === '/v1/traces') {
    for (const resource of JSON.parse(body).resourceSpans) {
      for (const scope of resource.scopeSpans) spans.push(...scope.spans)
    }
  }
  response.setHeader('content-type', 'application/json').end('{}')
}).listen(0, '127.0.0.1')
await once(collector, 'listening')
t.teardown(() => { collector.close() })

/** Starts a program as documented, sends the requests and stops it; returns its spans. */
async function traced (t: Test, script: string, send: (url: string) => Promise<unknown>): Promise<Span[]> {
  spans.length = 0
  const PORT = String(await closedPort())
  const { port } = collector.address() as AddressInfo
  const command = start.replace('http://127.0.0.1:4318', `http://127.0.0.1:${port}`)
    .replace('./docs/deploy', folder)
    .replace('dist/service/main.js', script)
    .replace(' node ', ` exec ${process.execPath} `)
  const variables = { PATH: process.env.PATH, NODE_ENV: 'production', PORT, DATA_DIR: folder, ACCESS_TOKENS: token }
  const exporters = {
    OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json'
  }
  const env = { ...variables, ...exporters }
  const child = spawn('sh', ['-c', command], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${PORT}`
  while (!await fetch(url).then(() => true, () => false)) await new Promise(resolve => setTimeout(resolve, 50))
  await send(url)
  child.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
  const probes = spans.filter(span => value(span, 'url.path') === '/').map(({ traceId }) => traceId)
  return spans.filter(({ traceId }) => !probes.includes(traceId))
}

function value (span: Span, key: string): string | undefined {
  const { stringValue, intValue } = span.attributes.find(attribute => attribute.key === key)?.value ?? {}
  return stringValue ?? intValue?.toString()
}

t.test('the service, and a host, send one span for each request, and one for each batch', needs(missing), async t => {
  // It resolves fastify and plant-store as if they were installed.
  const host = join(folder, 'host.js')
  writeFileSync(host, `
    import { createRequire } from 'node:module'
    import { pathToFileURL } from 'node:url'
    const { resolve } = createRequire(${JSON.stringify(join(compiledPackage, 'package.json'))})
    const find = name => pathToFileURL(resolve(name)).href
    const { default: fastify } = await import(find('fastify'))
    const { default: plantStore, sqlitePlantStore } = await import(find('plant-store'))
    const app = fastify()
    const store = sqlitePlantStore({ path: process.env.DATA_DIR + '/host.db' })
    app.register(plantStore, { prefix: '/v1', store, tokens: [process.env.ACCESS_TOKENS] })
    process.on('SIGTERM', () => app.close())
    await app.listen({ port: Number(process.env.PORT) })
  `)
  for (const { script, prefix } of [{ script: program, prefix: '' }, { script: host, prefix: '/v1' }]) {
    const spans = await traced(t, script, async url => {
      await Promise.all(Array.from({ length: 50 }, async () => create(url + prefix)))
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        traceparent: `00-${TRACE}-00f067aa0ba902b7-01`
      }
      await fetch(`${url}${prefix}/plants`, { method: 'POST', headers, body: '{"id":0,"name":"Monstera"}' })
      await create(url + prefix, { bearer: 'unknown-token' })
    })
    const requests = spans.filter(span => value(span, 'http.route') === `${prefix}/plants`)
    const stored = requests.filter(span => value(span, 'http.response.status_code') === '200')
    t.equal(stored.length, 51, 'one span for each request')
    t.ok(stored.every(span => span.name === `POST ${prefix}/plants`))
    t.ok(stored.every(span => value(span, 'plant_store.outcome') === 'stored'))
    t.equal(requests.filter(span => value(span, 'http.response.status_code') === '401').length, 1)
    t.equal(stored.filter(span => span.traceId === TRACE).length, 1, 'an incoming trace is continued')

    const batches = spans.filter(span => span.name === 'plant-store batch')
    t.ok(batches.length < 51, 'some requests share a batch')
    for (const batch of batches) {
      const sharing = stored.filter(span => span.links?.some(({ spanId }) => spanId === batch.spanId))
      t.equal(`${sharing.length}`, value(batch, 'plant_store.plants'), 'each request has a link to its batch')
    }
    t.equal(spans.length, requests.length + batches.length, 'no other spans')
  }
})
