import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { childrenOf, create, startService, testFolder, token } from '../support/process/program.js'
import { projectFile } from '../support/process/project.js'
import { startPrometheus, withPrometheus } from '../support/process/prometheus.js'

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
  const scrapes = async (source: typeof query) => (await source('sum_over_time(up[10m])'))[0]?.value ?? 0
  while (await scrapes(query) < 3 || await scrapes(ofSecure.query) < 1 || (await rules()).size === 0) await sleep(200)
  const { panels } = JSON.parse(readFileSync(projectFile('docs/grafana-dashboard.json'), 'utf8')) as { panels: { title: string, targets: { expr: string }[] }[] }
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const source = expr.includes('tls_certificate') ? ofSecure.query : query
      const samples = await source(expr.replaceAll('$job', '.*').replaceAll('$__rate_interval', '1m'))
      t.ok(samples.length > 0 && samples.every(({ value }) => Number.isFinite(value)), `${title}: ${expr}: ${JSON.stringify(samples)}`)
    }
  }
  await stop()
  t.ok((await query('sum(rate(plant_store_creates_total{outcome="stored"}[1m]))'))[0]?.value as number > 1)
  t.strictSame([...await rules()].filter(([, { health }]) => health !== 'ok'), [])
  const [worker] = childrenOf(service.pid) as [number]
  process.kill(worker, 'SIGKILL')
  await service.logged('a worker was replaced')
  let restarts: number | undefined
  for (let turn = 0; turn < 100 && restarts !== 1; turn++) {
    await sleep(100)
    restarts = (await query('plant_store_worker_restarts_total'))[0]?.value
  }
  t.equal(restarts, 1, 'the restart of a worker is counted')
})
