import { readFileSync } from 'node:fs'
import t from 'tap'
import { projectFile } from '../project.js'
import { create, startService } from '../program.js'

const text = async (port: unknown) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()

t.test('the dashboard uses exactly the names that are measured', async t => {
  const service = await startService(t, { WORKERS: '2', METRICS_PORT: '0' })
  const { port } = await service.logged('metrics at port')
  await create(service.address)
  const measured = new Set((await text(port)).match(/^[a-z]\w+(?=[{ ])/gm))
  const dashboard = readFileSync(projectFile('src/server/operations/grafana-dashboard.json'), 'utf8')
  const panels = (JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] }).panels
  const used = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/\b(?:http|plant_store|process|nodejs)_\w+/g) ?? []))
  t.ok(used.length > 12)
  t.same(used.filter(name => !measured.has(name)), [], 'each name is measured')
  const ours = [...measured].map(name => name.replace(/_(?:bucket|sum|count)$/, '')).filter(name => /^(?:http|plant_store)_/.test(name))
  t.same(ours.filter(name => !used.some(other => other.startsWith(name))), [], 'each of ours is shown')
})

t.test('requests are counted with method, route and status_code; creates by their outcome', async t => {
  const service = await startService(t, { METRICS_PORT: '0' }, { counted: true })
  const { port } = await service.logged('metrics at port')
  await create(service.address, { id: 1 })
  await create(service.address, { id: 1 })
  await create(service.address, { bearer: 'another-access-token' })
  await fetch(`${service.address}/nowhere`)
  const metrics = await text(port)
  t.match(metrics, /^http_requests_total\{method="POST",route="\/plants",status_code="200"\} 2$/m)
  t.match(metrics, /^http_requests_total\{method="POST",route="\/plants",status_code="401"\} 1$/m)
  t.match(metrics, /^http_requests_total\{method="GET",route="unknown",status_code="404"\} 1$/m)
  t.match(metrics, /^http_request_duration_seconds_count\{method="POST",route="\/plants",status_code="200"\} 2$/m)
  t.match(metrics, /^plant_store_creates_total\{outcome="stored"\} 1$/m)
  t.match(metrics, /^plant_store_creates_total\{outcome="same"\} 1$/m)
  t.match(metrics, /^plant_store_batch_plants_sum 2$/m)
  t.match(metrics, /^process_cpu_seconds_total /m)
  t.match(metrics, /^nodejs_eventloop_lag_seconds /m)
  t.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 404)
  t.equal((await fetch(`${service.address}/metrics`)).status, 404, 'not where the plants come from')
})
