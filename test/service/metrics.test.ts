import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { aggregate, ProcessMetrics } from '../../src/service/metrics/process-metrics.js'
import { ServiceMetrics } from '../../src/service/metrics/service-metrics.js'
import { PlantNotStored, PlantOutcomeUnknown, type PlantStore } from '../../src/stores/plant-store.js'
import { exchange, RawConnection } from '../support/http/raw-connection.js'
import { buildService } from '../support/http/service.js'
import { certificateFiles, makeCertificate } from '../support/process/make-certificate.js'
import { childrenOf, create, startService, testFolder, token } from '../support/process/program.js'

type MeasuredService = Awaited<ReturnType<typeof startService>> & { metricsPort: number, scrape: () => Promise<string> }

async function startMeasured (t: Test, env: Record<string, string> = {}): Promise<MeasuredService> {
  const service = await startService(t, { METRICS_PORT: '0', ...env }, { counted: true })
  const metricsPort = Number((await service.logged('metrics on port')).port)
  return Object.assign(service, { metricsPort, scrape: async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text() })
}

/** The value of a series: a name, optionally with all of its labels. */
function valueOf (text: string, series: string): number {
  const line = text.split('\n').find(line => line.startsWith(`${series} `))
  return line === undefined ? NaN : Number(line.slice(series.length + 1))
}

t.test('requests are counted by method, route and status_code, create requests also by outcome', async t => {
  const { address, metricsPort, scrape } = await startMeasured(t)
  await create(address, { id: 1 })
  await create(address, { id: 1 })
  await create(address, { bearer: 'another-access-token' })
  await fetch(`${address}/nowhere`)
  const metrics = await scrape()
  t.equal(valueOf(metrics, 'http_requests_total{method="POST",route="/plants",status_code="200"}'), 2)
  t.equal(valueOf(metrics, 'http_requests_total{method="POST",route="/plants",status_code="401"}'), 1)
  t.equal(valueOf(metrics, 'http_requests_total{method="GET",route="unknown",status_code="404"}'), 1)
  t.equal(valueOf(metrics, 'http_request_duration_seconds_count{method="POST",route="/plants",status_code="200"}'), 2)
  t.equal(valueOf(metrics, 'plant_store_creates_total{outcome="stored"}'), 1)
  t.equal(valueOf(metrics, 'plant_store_creates_total{outcome="same"}'), 1)
  t.equal(valueOf(metrics, 'plant_store_batch_plants_sum'), 2)
  t.ok(valueOf(metrics, 'process_cpu_seconds_total') > 0)
  t.ok(valueOf(metrics, 'nodejs_eventloop_lag_seconds') >= 0)
  t.equal((await fetch(`http://127.0.0.1:${metricsPort}/`)).status, 404)
  t.equal((await fetch(`http://127.0.0.1:${metricsPort}/metrics`, { method: 'POST' })).status, 405)
  t.equal((await fetch(`${address}/metrics`)).status, 404, 'metrics are not served on the main port')
})

t.test('of pipelined requests for the metrics, the second one ends the connection', async t => {
  const { metricsPort } = await startMeasured(t)
  const { answers, closed } = await exchange(metricsPort, 'HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(50), { expected: Infinity })
  t.equal(answers.length, 2)
  t.ok(closed)
})

for (const WORKERS of ['1', '2']) {
  t.test(`before any request, the counters of all outcomes and 5xx responses exist and are 0, with WORKERS=${WORKERS}`, async t => {
    const before = Date.now() / 1_000
    const { scrape } = await startMeasured(t, { WORKERS })
    const metrics = await scrape()
    for (const outcome of ['stored', 'same', 'taken', 'not_stored', 'unknown', 'failed']) {
      t.equal(valueOf(metrics, `plant_store_creates_total{outcome="${outcome}"}`), 0, outcome)
    }
    for (const status of ['500', '503', '504']) {
      t.equal(valueOf(metrics, `http_requests_total{method="POST",route="/plants",status_code="${status}"}`), 0, status)
    }
    t.equal(valueOf(metrics, 'http_requests_total{method="GET",route="/health/ready",status_code="503"}'), 0)
    t.equal(valueOf(metrics, 'plant_store_creates_waiting'), 0)
    t.equal(valueOf(metrics, 'plant_store_queue_bytes'), 0)
    const started = valueOf(metrics, 'process_start_time_seconds')
    t.ok(started >= before - 2 && started <= Date.now() / 1_000 + 1, `${started}`)
    t.notMatch(metrics, 'tls_certificate', 'without TLS there is no certificate metric')
  })
}

t.test('each outcome of a create request is counted', async t => {
  const outcomes = ['stored', 'same', 'taken', new PlantNotStored('a reason'), new PlantOutcomeUnknown('a reason'), new Error('a fault')] as const
  let turn = 0
  const store: PlantStore = {
    create: async () => {
      const outcome = outcomes[turn++ % outcomes.length] ?? 'stored'
      if (outcome instanceof Error) throw outcome
      return outcome
    }
  }
  const metrics = new ServiceMetrics()
  const service = await buildService(t, store)
  for (let id = 0; id < 7; id++) await service.create({ id, name: 'Monstera' })
  const text = await aggregate([await metrics.data()]).metrics()
  const counts = ['stored', 'same', 'taken', 'not_stored', 'unknown', 'failed'].map(outcome => valueOf(text, `plant_store_creates_total{outcome="${outcome}"}`))
  t.strictSame(counts, [2, 1, 1, 1, 1, 1])
})

t.test('two scrapes at the same time count each request once', async t => {
  const metrics = new ServiceMetrics()
  const app = fastify().addHook('onResponse', metrics.observeRequest)
  app.get('/path', async () => 'a response')
  await app.inject('/path')
  const scrapes = await Promise.all([metrics.data(), metrics.data()])
  for (const scrape of scrapes) {
    t.equal(valueOf(await aggregate([scrape]).metrics(), 'http_requests_total{method="GET",route="/path",status_code="200"}'), 1)
  }
})

t.test('a body that is being received counts as queue bytes, even in a worker', async t => {
  const { address, scrape } = await startMeasured(t, { WORKERS: '2' })
  const connection = await RawConnection.open(t, Number(new URL(address).port))
  connection.write('POST /plants HTTP/1.1', 'Host: h', `Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Content-Length: 200000', '', ' '.repeat(100_000))
  let bytes = 0
  for (let turn = 0; turn < 2_000 && bytes < 100_000; turn++) bytes = valueOf(await scrape(), 'plant_store_queue_bytes')
  t.ok(bytes >= 100_000, `${bytes}`)
  connection.socket.destroy()
  for (let turn = 0; turn < 2_000 && bytes > 0; turn++) bytes = valueOf(await scrape(), 'plant_store_queue_bytes')
  t.equal(bytes, 0)
})

t.test('for several processes, the highest event loop lag and the earliest start time are reported', async t => {
  const metrics = await new ProcessMetrics().data()
  const withValue = (name: string, value: number) =>
    metrics.map(metric => (metric.name === name ? { ...metric, values: [{ value, labels: {} }] } : metric))
  for (const [name, values, expected] of [
    ['nodejs_eventloop_lag_p99_seconds', [0.01, 0.9, 0.02], 0.9],
    ['nodejs_eventloop_lag_mean_seconds', [0.4, NaN, 0.02], 0.4],
    ['process_start_time_seconds', [1_700_000_000, 1_600_000_000], 1_600_000_000],
    ['process_open_fds', [20, 40], 40],
    ['process_max_fds', [1_024, 512], 512],
    ['process_resident_memory_bytes', [100, 200], 300]
  ] as const) {
    const numbers = values.filter(value => !Number.isNaN(value))
    t.equal(valueOf(await aggregate(numbers.map(value => withValue(name, value))).metrics(), name), expected, name)
  }
})

t.test('an event loop lag without samples since the last scrape is omitted', async t => {
  const process = new ProcessMetrics()
  await process.data()
  const text = await aggregate([await process.data()]).metrics()
  t.notMatch(text, /NaN|9223372036/)
})

t.test('memory is the sum over all processes, including the primary', async t => {
  const { pid, scrape } = await startMeasured(t, { WORKERS: '2' })
  const pids = [pid, ...childrenOf(pid)]
  t.equal(pids.length, 3)
  // It changes between the two measurements, especially soon after startup.
  let ratio = 0
  for (let turn = 0; turn < 20 && Math.abs(ratio - 1) > 0.15; turn++) {
    await sleep(100)
    const rss = execFileSync('ps', ['-o', 'rss=', '-p', pids.join()], { encoding: 'utf8' }).trim().split('\n').map(Number)
    ratio = valueOf(await scrape(), 'process_resident_memory_bytes') / rss.reduce((a, b) => a + b, 0) / 1_024
  }
  t.ok(Math.abs(ratio - 1) <= 0.15, `${ratio}`)
})

t.test('workers that die are replaced, and their counts are kept, except for those of the last second', async t => {
  const service = await startMeasured(t, { WORKERS: '2' })
  for (let turn = 0; turn < 6; turn++) await create(service.address)
  await sleep(2_500)
  for (const pid of childrenOf(service.pid)) process.kill(pid, 'SIGKILL')
  t.match(await service.logged('a worker exited; another starts in'), { level: 50, reason: 'SIGKILL' })
  await service.logged('a worker was replaced', 2)
  await create(service.address)
  const metrics = await service.scrape()
  t.equal(valueOf(metrics, 'plant_store_creates_total{outcome="stored"}'), 7)
  t.equal(valueOf(metrics, 'http_requests_total{method="POST",route="/plants",status_code="200"}'), 7)
  t.equal(valueOf(metrics, 'plant_store_worker_restarts_total'), 2)
  t.equal((await service.end('SIGTERM')).code, 0)
})

t.test('the counts of a worker that is stopped, not killed, are complete', async t => {
  const service = await startMeasured(t, { WORKERS: '2' })
  const connection = await RawConnection.open(t, Number(new URL(service.address).port))
  connection.write('POST /plants HTTP/1.1', 'Host: h', `Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Content-Length: 19', 'Expect: 100-continue', '', '')
  t.equal((await connection.answer()).status, 100, 'a worker has received the request')
  for (const pid of childrenOf(service.pid)) process.kill(pid, 'SIGTERM')
  await service.logged('a worker was replaced')
  // The last thing that its worker does.
  connection.write('{"id":1,"name":"x"}')
  t.equal((await connection.answer()).status, 200)
  await service.logged('a worker was replaced', 2)
  t.equal(valueOf(await service.scrape(), 'plant_store_creates_total{outcome="stored"}'), 1)
})

for (const WORKERS of ['1', '2']) {
  t.test(`with TLS, the expiry time of the served certificate is a metric, with WORKERS=${WORKERS}`, async t => {
    const folder = testFolder(t)
    const { use, ...files } = certificateFiles(folder)
    const expiry = (): number => Date.parse(execFileSync('openssl', ['x509', '-enddate', '-noout', '-in', files.TLS_CERT_FILE], { encoding: 'utf8' }).slice('notAfter='.length)) / 1_000
    use(makeCertificate(folder, 'first'))
    const service = await startMeasured(t, { ...files, WORKERS })
    const name = 'plant_store_tls_certificate_expiry_timestamp_seconds'
    t.equal(valueOf(await service.scrape(), name), expiry())
    const before = expiry()
    use(makeCertificate(folder, 'second', 30))
    service.child.kill('SIGHUP')
    await service.logged('certificate reloaded')
    t.not(expiry(), before)
    for (let turn = 0; turn < 400 && valueOf(await service.scrape(), name) !== expiry(); turn++) await sleep(50)
    t.equal(valueOf(await service.scrape(), name), expiry())
  })
}

t.test('the dashboard shows every metric of the service', async t => {
  const { scrape } = await startMeasured(t, { WORKERS: '2' })
  const measured = new Set((await scrape()).match(/^(?:http|plant_store)_\w+/gm)?.map(name => name.replace(/_(?:bucket|sum|count)$/, '')))
  const dashboard = readFileSync('docs/grafana-dashboard.json', 'utf8')
  t.strictSame([...measured].filter(name => !dashboard.includes(name)), [])
})
