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
import { childrenOf, create, startService, testFolder, token } from '../support/process/program.js'
import { projectFile } from '../support/process/project.js'

const withPrometheus = needsProgram('promtool', 'prometheus')

/**
 * Starts a Prometheus that scrapes a port of 127.0.0.1 every two seconds, with the job name plant-store and the rules
 * of docs/alerts.yml.
 */
async function startPrometheus (t: Test, metricsPort: unknown) {
  const folder = testFolder(t)
  const url = `http://127.0.0.1:${await closedPort()}`
  writeFileSync(join(folder, 'prometheus.yml'), `
    global: { scrape_interval: 2s, evaluation_interval: 1s }
    rule_files: ['${projectFile('docs/alerts.yml')}']
    scrape_configs: [{ job_name: plant-store, static_configs: [{ targets: ['127.0.0.1:${metricsPort}'] }] }]`)
  const prometheus = spawn('prometheus', [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${url.slice('http://'.length)}`], { stdio: 'ignore' })
  t.teardown(async () => {
    prometheus.kill('SIGKILL')
    if (prometheus.exitCode === null && prometheus.signalCode === null) await once(prometheus, 'exit')
  })
  while (!await fetch(`${url}/-/ready`).then(({ ok }) => ok, () => false)) {
    if (prometheus.exitCode !== null) throw new Error(`Prometheus exited with ${prometheus.exitCode}`)
    await sleep(50)
  }
  const get = async (path: string) => {
    const response = await fetch(`${url}/api/v1/${path}`)
    const { status, error, data } = await response.json() as { status: string, error?: string, data: any }
    if (status !== 'success') throw new Error(`${decodeURIComponent(path)}: ${error}`)
    return data
  }
  return {
    /** The values of an expression now. */
    async query (expression: string): Promise<number[]> {
      const { result } = await get(`query?query=${encodeURIComponent(expression)}`)
      return result.map(({ value }: any) => Number(value[1]))
    },
    /** The loaded rules, with the result of their last evaluation. */
    async rules (): Promise<{ name: string, health: string, lastError?: string }[]> {
      const { groups } = await get('rules')
      return groups.flatMap(({ rules }: any) => rules)
    }
  }
}

function promtool (args: string[], input = ''): { status: number | null, output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

t.test('promtool finds no problems in the metrics', withPrometheus, async t => {
  for (const WORKERS of ['1', '2']) {
    const service = await startService(t, { METRICS_PORT: '0', WORKERS })
    const { port } = await service.logged('metrics on port')
    await create(service.address)
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    t.match(metrics, 'plant_store_creates_total')
    t.strictSame(promtool(['check', 'metrics'], metrics), { status: 0, output: '' })
  }
})

t.test('each alert fires for its condition, and not for a healthy service', withPrometheus, async t => {
  const rules = promtool(['check', 'rules', projectFile('docs/alerts.yml')])
  t.equal(rules.status, 0, rules.output)
  const tests = promtool(['test', 'rules', projectFile('test/deployment/alerts.yml')])
  t.equal(tests.status, 0, tests.output)
  const alerts = readFileSync(projectFile('docs/alerts.yml'), 'utf8').match(/(?<=alert: )\w+/g) ?? []
  const tested = readFileSync(projectFile('test/deployment/alerts.yml'), 'utf8').split('exp_alerts').map(part => /alertname: (\w+)\s*$/.exec(part)?.[1])
  t.ok(alerts.length > 5)
  t.strictSame(alerts.filter(alert => !tested.includes(alert)), [], 'all alerts are tested')
})

t.test('each query of the dashboard has a result in Prometheus, and no rule fails', withPrometheus, async t => {
  const folder = testFolder(t)
  const { cert, key } = makeCertificate(folder, 'localhost')
  const service = await startService(t, { METRICS_PORT: '0', WORKERS: '2', DATA_DIR: join(folder, 'data') })
  const secure = await startService(t, { METRICS_PORT: '0', TLS_CERT_FILE: cert, TLS_KEY_FILE: key })
  const { query, rules } = await startPrometheus(t, (await service.logged('metrics on port')).port)
  const ofSecure = await startPrometheus(t, (await secure.logged('metrics on port')).port)
  const stop = new PlantClients(overHttp(service.address, token)).start(4)
  // Rates need a second scrape.
  const scrapes = async (source: typeof query) => (await source('sum_over_time(up[10m])'))[0] ?? 0
  while (await scrapes(query) < 3 || await scrapes(ofSecure.query) < 1 || (await rules()).length === 0) await sleep(200)
  const { panels } = JSON.parse(readFileSync(projectFile('docs/grafana-dashboard.json'), 'utf8')) as { panels: { title: string, targets: { expr: string }[] }[] }
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const source = expr.includes('tls_certificate') ? ofSecure.query : query
      const values = await source(expr.replaceAll('$job', '.*').replaceAll('$__rate_interval', '1m'))
      t.ok(values.length > 0 && values.every(Number.isFinite), `${title}: ${expr}: ${values}`)
    }
  }
  await stop()
  t.ok((await query('sum(rate(plant_store_creates_total{outcome="stored"}[1m]))'))[0] as number > 1)
  t.strictSame((await rules()).filter(({ health }) => health !== 'ok'), [])
  const [worker] = childrenOf(service.pid) as [number]
  process.kill(worker, 'SIGKILL')
  await service.logged('a worker was replaced')
  let restarts: number | undefined
  for (let turn = 0; turn < 100 && restarts !== 1; turn++) {
    await sleep(100)
    restarts = (await query('plant_store_worker_restarts_total'))[0]
  }
  t.equal(restarts, 1, 'the restart of a worker is counted')
})
