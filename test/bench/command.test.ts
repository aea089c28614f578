import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { main } from '../../bench/main.js'
import { serve, TOKEN } from '../support/http/service.js'
import { closedPort } from '../support/process/lasting-port.js'
import { projectFile } from '../support/process/program.js'
import { until } from '../support/until.js'
import type { NewPlant } from '../../src/plant.js'

const { PATH, HOME } = process.env
const short = ['--rounds', '1', '--warm-up', '0.1', '--seconds', '0.3', '--connections', '4']

/** Runs the benchmark in this process, where its modules are loaded once. */
async function bench (...words: string[]) {
  let hasPrepared = false
  const out = t.capture(console, 'log')
  const err = [t.capture(process.stderr, 'write', () => true), t.capture(console, 'error')]
  const code = await main(words, async () => { hasPrepared = true })
  const textOf = (captured: typeof out): string => captured().map(({ args }) => String(args[0])).join('\n')
  return { code, out: textOf(out), err: err.map(textOf).join('\n'), hasPrepared }
}

t.test('in a fresh clone, --help needs no compiled service, and the published run is drawn', async t => {
  const clone = t.testdir()
  const isSource = (path: string): boolean => !/bench\/(build|results)$/.test(path)
  for (const part of ['bench', 'src', 'test/support', 'package.json']) {
    cpSync(projectFile(part), join(clone, part), { recursive: true, filter: isSource })
  }
  symlinkSync(projectFile('node_modules'), join(clone, 'node_modules'))
  const words = ['-c', 'npm run bench -- --help && times']
  const { stdout } = await promisify(execFile)('sh', words, { cwd: clone, env: { PATH, HOME } })
  for (const option of ['--case', '--mongodb', '--rounds', '--save', '--from', '--url']) t.match(stdout, option)
  // Of processor time, as a busy machine takes longer. A compilation with types takes 15 seconds.
  const [, minutes, seconds] = /(\d+)m([\d.]+)s \d+m[\d.]+s\n$/.exec(stdout) ?? []
  t.ok(minutes === '0' && Number(seconds) < 6, `${minutes} min ${seconds} s of processor time`)
  t.strictSame(readdirSync(join(clone, 'bench/build')), ['bench', 'package.json'])

  const again = ['run', 'bench', '--', '--from', 'bench/published/results.json']
  const drawn = await promisify(execFile)('npm', again, { cwd: clone, env: { PATH, HOME } })
  t.match(drawn.stdout, /create: [^]*Pictures: bench\/published\/page\.html/)
})

t.test('a mistake in the options ends with 2 before anything is compiled, a failed run with 1', async t => {
  const mistake = { code: 2, err: /--case "nonsense"[^]*npm run bench -- --help/, hasPrepared: false }
  t.match(await bench('--case', 'nonsense'), mistake)
  t.match(await bench('--case', 'single', '--servers', 'bare'), { code: 2, err: 'no server takes part in any --case' })
  const folder = join(t.testdir({ file: '' }), 'file', 'folder')
  t.match(await bench('--save', folder), { code: 1, err: /bench: ENOTDIR/, hasPrepared: true })
  const address = `127.0.0.1:${await closedPort()}`
  const refused = await bench('--url', `http://${address}`, '--token', 'x', ...short, '--save', t.testdir())
  t.match(refused, {
    code: 1, err: `${address}: start the service there, or correct the address (nobody listens there)`
  })
})

t.test('a run saves its raw results, from which tables and pictures can be drawn again', async t => {
  const folder = join(t.testdir(), 'first')
  const servers = 'ours-sqlite,group-mongodb,plugin,bare'
  const words = ['--case', 'commits,distance,price', '--distances', '20', '--servers', servers]
  const first = await bench(...words, ...short, '--save', folder)
  t.equal(first.code, 0, first.err)
  t.match(first.out, /commits: [^]*distance: [^]*price: /)
  t.match(first.err, /\d+ s left: price of plant-store's plugin[^]* s left: commits plant-store, SQLite/)
  for (const line of first.out.split('\n')) t.ok(line.length <= 100 || !line.includes(' '), line)

  const again = await bench('--from', join(folder, 'results.json'))
  t.equal(again.out, first.out)
  t.strictSame(readdirSync(folder), ['commits.svg', 'page.html', 'results.json'])
  const results = JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8'))
  t.match(results.command, `--servers ${servers}`)
  t.match(results.method, { rounds: 1, warmUp: 0.1, leadIn: 0.3, seconds: 0.3, isPublished: false })
  t.match(results.versions, { fastify: /^\d/, express: /^\d/, SQLite: /^3\./ })
  for (const { spec, label, rounds: [round] } of results.measurements) {
    t.ok((round.price ?? round.perSecond) > 0, `${spec.case} ${label}`)
    t.ok(spec.distance === undefined || round.p50 >= 19_000, 'the proxy adds the distance to each round trip')
  }
})

t.test('--url measures a running service; its token is not saved, and a full run is not replaced', async t => {
  const older = { 'commits.svg': 'of an earlier run' }
  const folder = t.testdir({ bench: { results: { latest: { 'results.json': 'a full run' }, url: older } } })
  symlinkSync(projectFile('node_modules'), join(folder, 'node_modules'))
  const ids = new Set<bigint>()
  const create = async ({ id }: NewPlant) => ids.size < ids.add(id).size ? 'stored' : 'taken'
  const { port } = await serve(t, { create })
  const project = process.cwd()
  t.teardown(() => process.chdir(project))
  process.chdir(folder)
  const url = `http://127.0.0.1:${port}`
  const { code, out, err } = await bench('--url', url, '--token', TOKEN, '--rate', '50', ...short)
  t.equal(code, 0, err)
  t.match(out, /create: [^]*the service at --url +\d[^]*bench\/results\/url\/page\.html/)
  const results = join(folder, 'bench/results')
  t.equal(readFileSync(join(results, 'latest/results.json'), 'utf8'), 'a full run')
  const files = ['latency.svg', 'page.html', 'results.json', 'throughput.svg']
  t.strictSame(readdirSync(join(results, 'url')), files, 'those of an earlier run are gone')
  for (const file of files) t.notMatch(readFileSync(join(results, 'url', file), 'utf8'), TOKEN)
  const saved = JSON.parse(readFileSync(join(results, 'url/results.json'), 'utf8'))
  t.strictSame(saved.versions, {}, 'no version of the clone')
  t.notMatch(saved.machine, 'stores')
})

t.test('Ctrl-C stops every process of the run, and removes its temporary folder', async t => {
  const folder = t.testdir({ temporary: {}, saved: {} })
  const temporary = join(folder, 'temporary')
  const program = join(folder, 'program.mjs')
  const words = ['--case', 'create', '--servers', 'bare', '--seconds', '30', '--save', join(folder, 'saved')]
  writeFileSync(program, `import { main } from '${projectFile('build/bench/main.js')}'
    await main(${JSON.stringify(words)})`)
  const child = spawn(process.execPath, [program], { env: { PATH, HOME, TMPDIR: temporary }, stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  await until(() => addressIn(temporary) !== undefined)
  const url = addressIn(temporary) ?? ''
  child.kill('SIGINT')
  t.strictSame(await exit, [130, null])
  t.strictSame(readdirSync(temporary), [])
  // The server may still be running for a moment after the benchmark has exited.
  await t.rejects(async () => { for (;;) await fetch(url, { method: 'POST', body: '{}' }) })
})

/** The address of the server under measurement, from its log. */
function addressIn (folder: string): string | undefined {
  const log = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find(file => file.endsWith('server.log'))
  return log === undefined ? undefined : /http:\/\/\S+/.exec(readFileSync(join(folder, log), 'utf8'))?.[0]
}
