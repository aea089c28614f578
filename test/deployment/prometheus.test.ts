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
  const prometheus = spawn('prometheus', [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${url.slice('http://'.length)}`], { stdio: 'ignore' })
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

t.test('each alert fires for its condition, and not for a healthy service', withPrometheus, async t => {
  const rules = promtool(['check', 'rules', projectFile('docs/alerts.yml')])
  t.equal(rules.status, 0, rules.output)
  const tests = promtool(['test', 'rules', projectFile('test/deployment/alerts.yml')])
  t.equal(tests.status, 0, tests.output)
  const alerts = readFileSync(projectFile('docs/alerts.yml'), 'utf8').match(/(?<=alert: )\w+/g) ?? []
  const tested = readFileSync(projectFile('test/deployment/alerts.yml'), 'utf8').split('exp_alerts').map(part => /alertname: (\w+), $/.exec(part)?.[1])
  t.ok(alerts.length > 5)
  t.strictSame(alerts.filter(alert => !tested.includes(alert)), [], 'all alerts are tested')
})

t.test('with two processes, each query of the dashboard has a result in Prometheus', withPrometheus, async t => {
  const { cert, key } = makeCertificate(testFolder(t), 'localhost')
  const services = [await startService(t, { METRICS_PORT: '0' }), await startService(t, { METRICS_PORT: '0', TLS_CERT_FILE: cert, TLS_KEY_FILE: key })] as const
  const ports = await Promise.all(services.map(async service => (await service.logged('metrics on port')).port))
  await create(services[0].address)
  const metrics = await (await fetch(`http://127.0.0.1:${ports[0]}/metrics`)).text()
  t.match(metrics, 'plant_store_creates_total')
  t.strictSame(promtool(['check', 'metrics'], metrics), { status: 0, output: '' }, 'promtool finds no problems in the metrics')

  const query = await startPrometheus(t, ports)
  const stop = new PlantClients(overHttp(services[0].address, token), 1_000).start(4)
  // Rates need a second scrape.
  while ((await query('sum_over_time(up[10m]) >= 3')).length < 2) await sleep(200)
  const { panels } = JSON.parse(readFileSync(projectFile('docs/grafana-dashboard.json'), 'utf8')) as { panels: { title: string, targets: { expr: string }[] }[] }
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const values = await query(expr.replaceAll('$job', '.*').replaceAll('$__rate_interval', '1m'))
      t.ok(values.length > 0 && values.every(Number.isFinite), `${title}: ${expr}: ${values}`)
    }
  }
  await stop()
  t.ok((await query('sum(rate(plant_store_creates_total{outcome="stored"}[1m]))'))[0] as number > 1)
})
