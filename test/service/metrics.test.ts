import { readFileSync } from 'node:fs'
import t from 'tap'
import { readTlsPair } from '../../src/service/configuration/tls.js'
import { channels } from '../../src/diagnostics.js'
import { Health } from '../../src/service/http/health.js'
import { ServiceMetrics } from '../../src/service/metrics.js'
import { RawConnection } from '../support/http/raw-connection.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { create, startService, testFolder, token } from '../support/process/program.js'
import { VirtualClock } from '../support/virtual-clock.js'

const service = await startService(t, { METRICS_PORT: '0' })

async function scrape (path = '/metrics', method = 'GET'): Promise<Response> {
  const { port } = await service.logged('metrics on port')
  return fetch(`http://127.0.0.1:${port}${path}`, { method })
}

/** The value of a series: a name, optionally with all of its labels. */
function valueOf (text: string, series: string): number {
  const line = text.split('\n').find(line => line.startsWith(`${series} `))
  return line === undefined ? NaN : Number(line.slice(series.length + 1))
}

t.test('before any request, the counters of all outcomes and 5xx responses exist and are 0', async t => {
  const metrics = await (await scrape()).text()
  for (const outcome of ['stored', 'same', 'taken', 'not_stored', 'unknown', 'failed']) {
    t.equal(valueOf(metrics, `plant_store_creates_total{outcome="${outcome}"}`), 0, outcome)
  }
  for (const status of ['500', '503', '504']) {
    const labels = `method="POST",route="/plants",status_code="${status}"`
    t.equal(valueOf(metrics, `http_request_duration_seconds_count{${labels}}`), 0, status)
  }
  const notReady = 'http_request_duration_seconds_count{method="GET",route="/health/ready",status_code="503"}'
  t.equal(valueOf(metrics, notReady), 0)
  t.equal(valueOf(metrics, 'plant_store_creates_waiting'), 0)
  t.equal(valueOf(metrics, 'plant_store_queue_bytes'), 0)
  t.equal(valueOf(metrics, 'plant_store_ready'), 1, 'though nobody probes')
  t.notMatch(metrics, 'tls_certificate', 'without TLS there is no certificate metric')
  t.notMatch(metrics, /NaN|9223372036/, 'nor a value that was not measured')
})

t.test('requests are counted by method, route and status_code, create requests also by outcome', async t => {
  const { address } = service
  const start = performance.now()
  await create(address, { id: 1 })
  await create(address, { id: 1 })
  await create(address, { id: 1, name: 'Fern' })
  await create(address, { bearer: 'another-access-token' })
  for (const path of ['/nowhere', '/%zz']) await fetch(`${address}${path}`)
  const metrics = await (await scrape()).text()
  t.equal(valueOf(metrics, 'http_request_duration_seconds_count{method="POST",route="/plants",status_code="401"}'), 1)
  t.equal(valueOf(metrics, 'http_request_duration_seconds_count{method="GET",route="unknown",status_code="404"}'), 2)
  t.equal(valueOf(metrics, 'http_request_duration_seconds_count{method="POST",route="/plants",status_code="200"}'), 2)
  t.equal(valueOf(metrics, 'plant_store_creates_total{outcome="stored"}'), 1)
  t.equal(valueOf(metrics, 'plant_store_creates_total{outcome="same"}'), 1)
  t.equal(valueOf(metrics, 'plant_store_creates_total{outcome="taken"}'), 1)
  t.equal(valueOf(metrics, 'plant_store_batch_plants_sum'), 3)
  const seconds = valueOf(metrics, 'http_request_duration_seconds_sum{method="POST",route="/plants",status_code="200"}')
  t.ok(seconds > 0 && seconds < (performance.now() - start) / 1_000, `${seconds} s`)
  t.ok(valueOf(metrics, 'process_cpu_seconds_total') > 0)
  t.ok(valueOf(metrics, 'nodejs_eventloop_lag_seconds') >= 0)
})

t.test('only /metrics is served, and only on its own port', async t => {
  t.match((await scrape()).headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  t.strictSame([(await scrape('/metrics', 'HEAD')).status, (await scrape('/')).status], [200, 404])
  t.equal((await fetch(`${service.address}/metrics`)).status, 404)
})

t.test('a body that is being received counts as queue bytes', async t => {
  const connection = await RawConnection.open(t, Number(new URL(service.address).port))
  const queueBytes = async (): Promise<number> => valueOf(await (await scrape()).text(), 'plant_store_queue_bytes')
  const head = ['POST /plants HTTP/1.1', 'Host: h', `Authorization: Bearer ${token}`, 'Content-Type: application/json']
  connection.write(...head, 'Content-Length: 200000', '', ' '.repeat(100_000))
  for (let turn = 0; turn < 2_000 && await queueBytes() < 100_000; turn++);
  t.ok(await queueBytes() >= 100_000)
  connection.socket.destroy()
  for (let turn = 0; turn < 2_000 && await queueBytes() > 0; turn++);
  t.equal(await queueBytes(), 0)
})

t.test('the dashboard shows every metric; those of batches count them, and plant_store_ready is 1 or 0', async t => {
  const { cert, key } = makeCertificate(testFolder(t), 'localhost')
  const health: Pick<Health, 'fault'> = { fault: async () => undefined }
  const { registry } = new ServiceMetrics({ tls: readTlsPair(cert, key) }, health)
  const metrics = await registry.metrics()
  const names = metrics.match(/^(?:http|plant_store)_\w+/gm)?.map(name => name.replace(/_(?:bucket|sum|count)$/, ''))
  t.ok(names?.includes('plant_store_tls_certificate_expiry_timestamp_seconds'))
  const dashboard: { panels: { targets: { expr: string }[] }[] } =
    JSON.parse(readFileSync('docs/grafana-dashboard.json', 'utf8'))
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join()
  t.strictSame([...new Set(names)].filter(name => !queries.includes(`${name}{`) && !queries.includes(`${name}_`)), [])

  const batch = { plants: 3, milliseconds: 250, retries: 2 }
  for (const sent of [channels.batchStart, channels.batchStart, channels.batchEnd]) sent.publish(batch)
  const observed = await registry.metrics()
  const series = ['batches_in_flight', 'batch_plants_sum', 'batch_duration_seconds_sum', 'retries_total']
  t.strictSame(series.map(name => valueOf(observed, `plant_store_${name}`)), [1, 3, 0.25, 2])

  t.equal(valueOf(metrics, 'plant_store_ready'), 1)
  health.fault = async () => 'the disk is full'
  t.equal(valueOf(await registry.metrics(), 'plant_store_ready'), 0)
})

t.test('SIGTERM stops a service with metrics', async t => {
  t.match(await service.end('SIGTERM'), { code: 0, signal: null, stderr: '' })
})

/** The health of a store whose checks settle when the test says so. */
function watched () {
  const clock = new VirtualClock()
  const checks: { pass: () => void, fail: (error: Error) => void }[] = []
  async function ready (): Promise<void> {
    return new Promise((resolve, reject) => { checks.push({ pass: resolve, fail: reject }) })
  }
  const health = new Health({ create: async () => 'stored', ready }, clock)
  return { clock, checks, health }
}

t.test('a store that hangs has one check, however often it is probed; each probe is answered within 3 s', async t => {
  const { clock, checks, health } = watched()
  const answers: (string | undefined)[] = []
  const probe = (): void => { health.fault().then(answer => { answers.push(answer) }) }
  for (let second = 0; second < 60; second++) {
    probe()
    await clock.pass(1_000)
  }
  await clock.pass(3_000)
  t.equal(checks.length, 1)
  t.strictSame(answers, Array(60).fill('the store did not respond within 3000 ms'))

  checks[0]?.pass()
  await clock.turns()
  probe()
  await clock.turns()
  t.equal(checks.length, 2, 'the next probe has a new check')
  checks[1]?.pass()
  await clock.turns()
  t.equal(answers.at(-1), undefined)
})

t.test('a check that fails after its probes were answered does not fail the process, nor the next probe', async t => {
  const { clock, checks, health } = watched()
  const late = health.fault()
  await clock.pass(3_000)
  checks[0]?.fail(new Error('the connection was closed'))
  await clock.turns()
  t.match(await late, /did not respond/)
  const next = health.fault()
  await clock.turns()
  checks[1]?.pass()
  t.equal(await next, undefined)
})
