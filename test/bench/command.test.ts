import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { main } from '../../bench/main.js'
import { startProcess } from '../../bench/run/start-process.js'
import { closedPort } from '../support/process/lasting-port.js'
import { bare, projectFile } from '../support/process/program.js'

const { PATH, HOME, TMPDIR } = process.env
const short = ['--rounds', '1', '--warm-up', '0.1', '--seconds', '0.1', '--connections', '4', '--rate', '50']

interface Ended { code: number | string, out: string, err: string }

/** Runs the benchmark in this process, where its modules are loaded once. */
async function bench (words: readonly string[]): Promise<Ended> {
  const ended: Ended = { code: 0, out: '', err: '' }
  const { log, error } = console
  const { write } = process.stderr
  console.log = (text: string) => { ended.out += `${text}\n` }
  console.error = (text: string) => { ended.err += `${text}\n` }
  process.stderr.write = text => (ended.err += String(text)) !== ''
  try {
    ended.code = await main(words)
  } finally {
    Object.assign(console, { log, error })
    process.stderr.write = write
  }
  return ended
}

async function run (command: readonly string[], cwd: string): Promise<Ended> {
  const words = bare({ PATH, HOME, TMPDIR }, command)
  return await new Promise(resolve => {
    execFile('env', words, { cwd }, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }))
  })
}

t.test('in a fresh clone, --help and a mistake are answered before the service is compiled', async t => {
  const clone = t.testdir()
  const isSource = (path: string): boolean => !/bench\/(build|results|published)$/.test(path)
  for (const part of ['bench', 'src', 'test', 'package.json', 'tsconfig.json', 'tsconfig.test.json']) {
    cpSync(projectFile(part), join(clone, part), { recursive: true, filter: isSource })
  }
  symlinkSync(projectFile('node_modules'), join(clone, 'node_modules'))
  const first = await run(['sh', '-c', 'npm run bench -- --help && times'], clone)
  t.equal(first.code, 0, first.err)
  for (const option of ['--case', '--mongodb', '--rounds', '--save', '--from', '--url']) t.match(first.out, option)
  // Of processor time, as a busy machine takes longer. A compilation with types takes 15 seconds.
  const [, minutes, seconds] = /(\d+)m([\d.]+)s \d+m[\d.]+s\n$/.exec(first.out) ?? []
  t.ok(minutes === '0' && Number(seconds) < 6, `${minutes} min ${seconds} s of processor time`)
  const mistake = await run([process.execPath, 'bench/start.js', '--case', 'nonsense'], clone)
  t.match(mistake, { code: 2, err: /--case "nonsense"[^]*npm run bench -- --help/ })
  t.strictSame(readdirSync(join(clone, 'bench/build')), ['bench', 'package.json'])
})

t.test('the exit code is 2 for options that measure nothing, and 1 for a folder that cannot be written', async t => {
  t.match(await bench(['--case', 'single', '--servers', 'bare']), { code: 2, err: 'no server takes part in any --case' })
  const folder = join(t.testdir({ file: '' }), 'file', 'folder')
  t.match(await bench(['--save', folder]), { code: 1, err: /^bench: ENOTDIR/ })
})

t.test('a run saves its raw results, from which tables and pictures can be drawn again', async t => {
  const folder = t.testdir()
  const cases = 'create,latency,commits,price'
  const servers = 'bare,ours-sqlite@ACCESS_LOG=true,group-sqlite,ours-mongodb,group-mongodb,plugin'
  const words = ['--case', cases, '--servers', servers, ...short, '--save', join(folder, 'first')]
  const first = await bench(words)
  t.equal(first.code, 0, first.err)
  t.match(first.out, /create: distinct plants[^]*latency: [^]*commits: [^]*price: /)
  t.match(first.err, /1\/\d+, \d+ s left: price of plant-store's plugin[^]*2\/\d+, .* s left: create bare/)
  for (const line of first.out.split('\n')) t.ok(line.length <= 100 || !line.includes(' '), line)

  const again = await bench(['--from', join(folder, 'first', 'results.json')])
  t.equal(again.out, first.out)
  const files = ['commits.svg', 'latency.svg', 'page.html', 'results.json', 'throughput.svg']
  t.strictSame(readdirSync(join(folder, 'first')), files)
  const results = JSON.parse(readFileSync(join(folder, 'first', 'results.json'), 'utf8'))
  t.match(results.command, `--servers ${servers}`)
  const times = { warmUp: 0.1, leadIn: 0.1, seconds: 0.1, latencySeconds: 0.1 }
  t.strictSame(results.method, { rounds: 1, ...times, isPublished: false })
  t.match(results.versions, { fastify: /^\d/, express: /^\d/, SQLite: /^3\./ })
  for (const { spec, label, rounds: [round] } of results.measurements) {
    t.ok((spec.case === 'price' ? round.price : round.perSecond) > 0, `${spec.case} ${label}`)
  }
})

t.test('--url measures a running service; its token is not saved, and a full run is not replaced', async t => {
  const folder = t.testdir({ bench: { results: { latest: { 'results.json': 'a full run' } } } })
  symlinkSync(projectFile('node_modules'), join(folder, 'node_modules'))
  const data = join(folder, 'data')
  mkdirSync(data)
  const token = 'a-token-for-the-bench'
  const { address, stop } = await startProcess(new URL('../../dist/commands/main.js', import.meta.url), {
    environment: { NODE_ENV: 'production', PORT: '0', DATA_DIR: data, ACCESS_TOKENS: token },
    logFile: join(folder, 'service.log')
  })
  t.teardown(stop)
  const project = process.cwd()
  process.chdir(folder)
  t.teardown(() => process.chdir(project))
  const { code, out, err } = await bench(['--url', address, '--token', token, ...short])
  t.equal(code, 0, err)
  t.match(out, /create: [^]*the service at --url +\d[^]*bench\/results\/url\/page\.html/)
  const results = join(folder, 'bench/results')
  t.equal(readFileSync(join(results, 'latest/results.json'), 'utf8'), 'a full run')
  for (const file of readdirSync(join(results, 'url'))) {
    t.notMatch(readFileSync(join(results, 'url', file), 'utf8'), token)
  }
})

t.test('an address at which nobody listens is named, and the exit code is 1', async t => {
  const address = `127.0.0.1:${await closedPort()}`
  const url = await bench(['--url', `http://${address}`, '--token', 'x', ...short, '--save', t.testdir()])
  t.match(url, { code: 1, err: `nobody listens on ${address}: start the service there` })
})

t.test('Ctrl-C stops every process of the run, and removes its temporary folder', async t => {
  const folder = t.testdir({ temporary: {}, saved: {} })
  const temporary = join(folder, 'temporary')
  const words = ['--case', 'create', '--servers', 'bare', '--seconds', '30', '--save', join(folder, 'saved')]
  const program = projectFile('bench/start.js')
  const command = bare({ PATH, HOME, TMPDIR: temporary }, [process.execPath, program, ...words])
  const child = spawn('env', command, { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  const url = await serverIn(temporary)
  child.kill('SIGINT')
  t.strictSame(await exit, [130, null])
  t.strictSame(readdirSync(temporary), [])
  await t.rejects(async () => {
    // The server may still be running for a moment after the benchmark has exited.
    for (let turn = 0; turn < 500; turn++) {
      await fetch(url, { method: 'POST', body: '{}' })
      await sleep(10)
    }
  })
})

/** The address of the server under measurement, from its log. */
async function serverIn (folder: string): Promise<string> {
  for (let turn = 0; turn < 2000; turn++) {
    await sleep(10)
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const found = file.endsWith('server.log') ? /http:\/\/\S+/.exec(readFileSync(join(folder, file), 'utf8')) : null
      if (found !== null) return found[0]
    }
  }
  throw new Error('no server was started')
}
