/**
 * Measures what the plugin costs its host; run it on an otherwise idle machine:
 *
 *   npm run compile && node build/test/package/cost.js [--rounds 5] [--seconds 3]
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { median, ratio } from '../../bench/statistics.js'
import { compiledPackage as cwd } from '../support/process/project.js'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '3' } } })
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const file = join(tmpdir(), `plant-store-cost-${process.pid}.db`)

/** Measures time and memory of a host's code in a new process, where `plant-store` can be imported by its name. */
function measured (before: string, what: string): Record<'ms' | 'cpu' | 'heap' | 'rss', number> {
  const code = `
    import fastify from 'fastify'
    const store = { create: async () => 'stored' }
    const tokens = ['an-access-token-of-yours']
    ${before}
    globalThis.gc()
    const memory = process.memoryUsage()
    const cpu = process.cpuUsage()
    const start = performance.now()
    ${what}
    const ms = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    globalThis.gc()
    const { heapUsed, rss } = process.memoryUsage()
    console.log(JSON.stringify({ ms, cpu: (user + system) / 1000, heap: (heapUsed - memory.heapUsed) / 1e6, rss: (rss - memory.rss) / 1e6 }))
    process.exit()`
  return JSON.parse(execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', code], { cwd, encoding: 'utf8' }))
}

function printCost (name: string, before: string, what: string): void {
  const all = Array.from({ length: rounds * 2 + 1 }, () => measured(before, what))
  const of = (key: 'ms' | 'cpu' | 'heap' | 'rss'): string => median(all.map(one => one[key])).toFixed(1)
  console.log(`${name.padEnd(58)} ${of('ms')} ms, ${of('cpu')} ms of the processor, ${of('heap')} MB heap, ${of('rss')} MB resident`)
}

const imported = 'const { default: plantStore, sqlitePlantStore } = await import(\'plant-store\')'
const started = 'const app = fastify(); app.get(\'/own\', async () => \'own\')'
// The first Fastify of a process compiles its code: that is the host's own.
const warm = 'await fastify().get(\'/own\', async () => \'own\').ready()'
printCost('import, with fastify already loaded', '', imported)
printCost('startup of a host without it', warm, `${started}; await app.ready()`)
printCost('startup of a host with it, custom store', `${warm}; ${imported}`, `${started}; app.register(plantStore, { store, tokens }); await app.ready()`)
printCost('startup of a host with it twice', `${warm}; ${imported}`,
  `${started}; app.register(plantStore, { prefix: '/a', store, tokens }); app.register(plantStore, { prefix: '/b', store, tokens }); await app.ready()`)
printCost('startup of a host with it, SQLite', `${warm}; ${imported}`,
  `${started}; app.register(plantStore, { store: sqlitePlantStore({ path: ${JSON.stringify(file)} }), tokens }); await app.ready()`)
for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })

async function startHost (withPlugin: boolean): Promise<{ url: string, child: ChildProcess }> {
  const code = `
    import fastify from 'fastify'
    const app = fastify()
    app.get('/own', async () => ({ own: true }))
    if (${withPlugin}) app.register((await import('plant-store')).default, { prefix: '/v1', store: { create: async () => 'stored' }, tokens: ['an-access-token-of-yours'] })
    console.log(await app.listen({ port: 0, host: '127.0.0.1' }))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data') as [Buffer]
  return { url: `${line.toString().trim()}/own`, child }
}

async function requestsPerSecond (url: string, duration: number): Promise<number> {
  const { requests, non2xx, errors } = await autocannon({ url, connections: 32, duration })
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests failed`)
  return requests.average
}

const hosts = [await startHost(false), await startHost(true)] as const
const rates: [number[], number[]] = [[], []]
for (const { url } of hosts) await requestsPerSecond(url, 2)
for (let round = 0; round < rounds; round++) {
  for (const place of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
    rates[place].push(await requestsPerSecond(hosts[place].url, seconds))
  }
}
for (const { child } of hosts) child.kill()
const { median: result, low, high } = ratio(rates[1], rates[0])
console.log(`a host's own route: ${median(rates[0]).toFixed(0)} requests a second without it, ${median(rates[1]).toFixed(0)} with it, ratio ${result.toFixed(3)} (pairs ${low.toFixed(3)} to ${high.toFixed(3)})`)
