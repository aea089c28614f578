import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { closedPort } from '../support/process/lasting-port.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { needsProgram } from '../support/process/needs.js'
import { create, projectFile, startService, testFolder, token } from '../support/process/program.js'

const withPrometheus = needsProgram('promtool', 'prometheus')

/** Starts a Prometheus that scrapes ports of 127.0.0.1, as the job plant-store; returns its query. */
async function startPrometheus (t: Test, ports: readonly unknown[]) {
  const folder = testFolder(t)
  const url = `http://127.0.0.1:${await closedPort()}`
  const targets = ports.map(port => `'127.0.0.1:${port}'`).join(', ')
  writeFileSync(join(folder, 'prometheus.yml'), `
    global: { scrape_interval: 1s }
    scrape_configs: [{ job_name: plant-store, static_configs: [{ targets: [${targets}] }] }]`)
  const prometheus = spawn('prometheus', [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=${url.slice('http://'.length)}`
  ], { stdio: 'ignore' })
  t.teardown(async () => {
    prometheus.kill('SIGKILL')
    if (prometheus.exitCode === null && prometheus.signalCode === null) await once(prometheus, 'exit')
  })
  while (!await fetch(`${url}/-/ready`).then(({ ok }) => ok, () => false)) {
    if (prometheus.exitCode !== null) throw new Error(`Prometheus exited with ${prometheus.exitCode}`)
    await sleep(50)
  }
  return async (expression: string): Promise<number[]> => {
    const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`)
    const { error, data } = await response.json() as { error?: string, data: any }
    if (error !== undefined) throw new Error(`${expression}: ${error}`)
    return data.result.map(({ value }: any) => Number(value[1]))
  }
}

function promtool (args: string[], input = ''): { status: number | null, output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

/** The tests of alerts.yml, which have one scrape a minute, with another interval. */
function withScrapesEvery (seconds: number): string {
  const perMinute = 60 / seconds
  const text = readFileSync(projectFile('test/deployment/alerts.yml'), 'utf8')
  return text
    .replace('../../docs/alerts.yml', projectFile('docs/alerts.yml'))
    .replaceAll('interval: 1m', `interval: ${seconds}s`)
    .replace(/(?<=values: .*)\+([\d.]+)/g, (_all, step) => `+${step / perMinute}`)
    .replace(/(?<=values: .*)x(\d+)/g, (_all, times) => `x${times * perMinute}`)
}

t.test('each alert fires for its condition, not for a healthy service or another program', withPrometheus, async t => {
  const rules = promtool(['check', 'rules', projectFile('docs/alerts.yml')])
  t.equal(rules.status, 0, rules.output)
  for (const seconds of [15, 30, 60]) {
    const file = join(testFolder(t), 'alerts.yml')
    writeFileSync(file, withScrapesEvery(seconds))
    const tests = promtool(['test', 'rules', file])
    t.equal(tests.status, 0, `with a scrape each ${seconds} s: ${tests.output}`)
  }
  const alerts = readFileSync(projectFile('docs/alerts.yml'), 'utf8').match(/(?<=alert: )\w+/g) ?? []
  const tested: string[] = withScrapesEvery(60).match(/(?<=alertname: )\w+(?=, exp_alerts: \[$)/gm) ?? []
  t.ok(alerts.length > 5)
  t.strictSame(alerts.filter(alert => !tested.includes(alert)), [], 'all alerts are tested')
})

t.test('PlantStoreDown fires for a week', withPrometheus, async t => {
  const file = join(testFolder(t), 'week.json')
  const labels = '{job="plant-store",instance="a"}'
  const firing = 'ALERTS{alertname="PlantStoreDown",alertstate="firing"}'
  writeFileSync(file, JSON.stringify({
    rule_files: [projectFile('docs/alerts.yml')],
    evaluation_interval: '1h',
    tests: [{
      interval: '1m',
      input_series: [
        { series: `up${labels}`, values: '1x10 0x11000' },
        { series: `plant_store_ready${labels}`, values: '1x10 stale' }
      ],
      promql_expr_test: [['6d', 1], ['169h', 0]].map(([time, count]) => (
        { expr: `count(${firing}) or vector(0)`, eval_time: time, exp_samples: [{ labels: '{}', value: count }] }
      ))
    }]
  }))
  const tests = promtool(['test', 'rules', file])
  t.equal(tests.status, 0, tests.output)
})

/** The queries of the dashboard, as Grafana sends them, and those of docs/scaling.md. */
function documentedQueries (): string[] {
  interface Target { expr: string, interval?: string }
  const dashboard = readFileSync(projectFile('docs/grafana-dashboard.json'), 'utf8')
  const { panels } = JSON.parse(dashboard) as { panels: { targets: Target[] }[] }
  const ofPanels = panels.flatMap(({ targets }) => targets).map(({ expr, interval = '15s' }) => {
    // Grafana takes four times the minimum step of the query or, by default, of the data source, which is 15 s.
    return expr.replaceAll('$job', '.*').replaceAll('$__rate_interval', interval === '1m' ? '4m' : '1m')
  })
  const page = readFileSync(projectFile('docs/scaling.md'), 'utf8')
  const ofPage = page.match(/(?<=^\| [^|]+ \| `).*(?=` \|$)/gm)?.filter(code => code.includes('(')) ?? []
  return [...ofPanels, ...ofPage]
}

/** A test file of promtool: with a scrape a minute of metrics that grow, each query has a result that is a number. */
function testOfQueries (metrics: string, queries: readonly string[]): string {
  const series = metrics.split('\n').filter(line => /^\w/.test(line)).map(line => line.slice(0, line.lastIndexOf(' ')))
  const input = series.map(name => {
    const [metric, labels = ''] = name.split(/\{|\}/)
    return { series: `${metric}{job="kubernetes-pods",instance="a",${labels}}`, values: '1+1x30' }
  })
  const expected = queries.map(query => (
    { expr: `count((${query}) > -1e12) > bool 0`, eval_time: '20m', exp_samples: [{ labels: '{}', value: 1 }] }
  ))
  return JSON.stringify({ tests: [{ interval: '1m', input_series: input, promql_expr_test: expected }] })
}

t.test('the metrics are well-formed; each query has a result, also with a scrape a minute', withPrometheus, async t => {
  const { cert, key } = makeCertificate(testFolder(t), 'localhost')
  const services = [
    await startService(t, { METRICS_PORT: '0' }),
    await startService(t, { METRICS_PORT: '0', TLS_CERT_FILE: cert, TLS_KEY_FILE: key })
  ] as const
  const ports = await Promise.all(services.map(async service => (await service.logged('metrics on port')).port))
  await create(services[0].address)
  const [metrics, overTls] = await Promise.all(
    ports.map(async port => (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
  )
  t.match(metrics, 'plant_store_creates_total')
  t.strictSame(promtool(['check', 'metrics'], metrics), { status: 0, output: '' }, 'promtool finds no problems')

  const queries = documentedQueries()
  t.ok(queries.length > 20)
  const file = join(testFolder(t), 'queries.json')
  writeFileSync(file, testOfQueries(overTls as string, queries))
  const tests = promtool(['test', 'rules', file])
  t.equal(tests.status, 0, tests.output)

  const query = await startPrometheus(t, ports)
  const stop = new PlantClients(overHttp(services[0].address, token), 1_000).start(4)
  // Rates need a second scrape.
  while ((await query('sum_over_time(up[10m]) >= 3')).length < 2) await sleep(200)
  for (const expression of queries) {
    const values = await query(expression)
    t.ok(values.length > 0 && values.every(Number.isFinite), `${expression}: ${values}`)
  }
  await stop()
  t.ok((await query('sum(rate(plant_store_creates_total{outcome="stored"}[1m]))'))[0] as number > 1)
})
