import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startProcess } from '../../bench/run/start-process.js'
import { bare } from '../support/process/program.js'
import { send, testServer } from './test-server.js'

const { PATH, HOME, TMPDIR } = process.env
const main = fileURLToPath(new URL('../../bench/main.js', import.meta.url))

async function bench (...words: string[]): Promise<{ code: number | string, out: string, err: string }> {
  return await new Promise(resolve => {
    execFile('env', bare({ PATH, HOME, TMPDIR }, [process.execPath, main, ...words]), (error, out, err) => resolve({ code: error?.code ?? 0, out, err }))
  })
}

t.test('--help lists the options', async t => {
  const { code, out } = await bench('--help')
  t.equal(code, 0)
  for (const option of ['--case', '--mongodb', '--rounds', '--save', '--from', '--url']) t.match(out, option)
})

t.test('the exit code is 2 for an invalid option, and 1 for a run that cannot be read or a folder that cannot be written', async t => {
  t.match(await bench('--case', 'nonsense'), { code: 2, err: /--case "nonsense"/ })
  t.match(await bench('--case', 'single', '--servers', 'bare'), { code: 2, err: 'no server takes part in any --case' })
  t.match(await bench('--from', 'never-saved'), { code: 1, err: /ENOENT.*bench\/results\/never-saved/ })
  for (const content of ['{"name":"a-package"}', '[]', '{"measurements":[{"spec":{}}]}']) {
    const folder = t.testdir({ 'results.json': content })
    t.match(await bench('--from', folder), { code: 1, err: /^bench: .* is not a saved run of this version/ }, content)
  }
  t.match(await bench('--save', join(t.testdir({ file: '' }), 'file', 'folder')), { code: 1, err: /^bench: ENOTDIR/ })
})

t.test('a run saves its raw results, from which tables and pictures can be drawn again', async t => {
  const folder = t.testdir()
  const short = ['--rounds', '1', '--warm-up', '0.1', '--seconds', '0.1', '--connections', '4', '--rate', '50']
  const servers = 'bare,fastify,fastify-token,ours-sqlite,ours-sqlite@ACCESS_LOG=true,group-sqlite,ours-mongodb,group-mongodb'
  const first = await bench('--servers', servers, ...short, '--save', join(folder, 'first'))
  t.equal(first.code, 0, first.err)
  t.match(first.out, /create: distinct plants[^]*latency: [^]*commits: /)
  for (const line of first.out.split('\n')) t.ok(line.length <= 100 || !line.includes(' '), line)
  const again = await bench('--from', join(folder, 'first', 'results.json'))
  t.equal(again.out, first.out)
  t.strictSame(readdirSync(join(folder, 'first')), ['commits.svg', 'latency.svg', 'page.html', 'results.json', 'throughput.svg'])
  const { command, method, versions, measurements } = JSON.parse(readFileSync(join(folder, 'first', 'results.json'), 'utf8'))
  t.match(command, `--servers ${servers}`)
  t.strictSame(method, { rounds: 1, warmUp: 0.1, leadIn: 0.1, seconds: 0.1, latencySeconds: 0.1, isPublished: false })
  t.match(versions, { fastify: /^\d/, express: /^\d/, SQLite: /^3\./ })
  for (const { spec, label, rounds } of measurements) t.ok(rounds[0].perSecond > 0, `${spec.case} ${label}`)
})

t.test('--url measures a running service, and its token is not saved', async t => {
  const folder = t.testdir()
  const token = 'a-token-for-the-bench'
  const { address, stop } = await startProcess(new URL('../../dist/commands/main.js', import.meta.url), {
    environment: { NODE_ENV: 'production', PORT: '0', DATA_DIR: folder, ACCESS_TOKENS: token },
    logFile: join(folder, 'service.log')
  })
  t.teardown(stop)
  const short = ['--rounds', '1', '--warm-up', '0.1', '--seconds', '0.1', '--connections', '4', '--rate', '50']
  const { code, out, err } = await bench('--url', address, '--token', token, ...short, '--save', join(folder, 'run'))
  t.equal(code, 0, err)
  t.match(out, /create: [^]*the service at --url +\d/)
  for (const file of readdirSync(join(folder, 'run'))) t.notMatch(readFileSync(join(folder, 'run', file), 'utf8'), token)
})

t.test('a service with wrong responses is not measured, and the exit code is 1', async t => {
  const url = await testServer(t, (_body, response) => send(response, 418, '{}'))
  t.match(await bench('--url', url, '--token', 'x', '--rounds', '1'), { code: 1, err: /responds incorrectly.*status 418/ })
})

t.test('Ctrl-C stops every process of the run, and removes its temporary folder', async t => {
  const folder = t.testdir()
  const child = spawn('env', bare({ PATH, HOME, TMPDIR: folder }, [process.execPath, main, '--case', 'create', '--servers', 'ours-sqlite', '--seconds', '30']), { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  const url = await serverIn(folder)
  child.kill('SIGINT')
  t.strictSame(await exit, [130, null])
  t.strictSame(readdirSync(folder), [])
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
