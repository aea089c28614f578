import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { closedPort } from './lasting-port.js'
import { needsProgram } from './needs.js'
import { testFolder } from './program.js'
import { projectFile } from './project.js'

/** The options of tests that need Prometheus and promtool. */
export const withPrometheus = needsProgram('promtool', 'prometheus')

export interface Sample {
  labels: Record<string, string>
  value: number
}

export interface Prometheus {
  /** Evaluates an expression now. */
  query: (expression: string) => Promise<Sample[]>
  /** The loaded rules, by name, with the result of their last evaluation. */
  rules: () => Promise<Map<string, { health: string, lastError?: string }>>
}

/**
 * Starts a Prometheus that scrapes a port of 127.0.0.1 every two seconds, with the job name plant-store and the rules
 * of docs/alerts.yml.
 */
export async function startPrometheus (t: Test, metricsPort: unknown): Promise<Prometheus> {
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
    async query (expression) {
      const { result } = await get(`query?query=${encodeURIComponent(expression)}`)
      return result.map(({ metric, value }: any) => ({ labels: metric, value: Number(value[1]) }))
    },
    async rules () {
      const { groups } = await get('rules')
      return new Map(groups.flatMap(({ rules }: any) => rules.map((rule: any) => [rule.name, rule])))
    }
  }
}
