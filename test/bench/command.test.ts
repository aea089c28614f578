import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { send, testServer } from './test-server.js'

const main = ['--import=tsx', 'bench/main.ts']
// Under tsx lines are others than under tap's loader: its coverage would be wrong.
const env = { PATH: process.env.PATH, HOME: process.env.HOME, _TAPJS_PROCESSINFO_COVERAGE_: '0' }

async function bench (...words: string[]): Promise<{ code: number | string, out: string, err: string }> {
  return await new Promise((resolve) => {
    execFile(process.execPath, [...main, ...words], { env }, (error, out, err) => {
      resolve({ code: error?.code ?? 0, out, err })
    })
  })
}

t.test('--help lists the options', async (t) => {
  const { code, out } = await bench('--help')
  t.equal(code, 0)
  for (const option of ['--case', '--connections', '--duration', '--rounds', '--save', '--compare', '--url', '--token', '--rate', '--targets']) {
    t.match(out, option)
  }
})

t.test('a wrong option exits with 2, an unknown run to compare with 1', async (t) => {
  t.match(await bench('--case', 'nonsense'), { code: 2, err: /--case nonsense/ })
  t.match(await bench('--compare', 'never-saved'), { code: 1, err: /no saved run never-saved/ })
})

t.test('a service that is not right is not measured: exit 1', async (t) => {
  const { url } = await testServer(t, (_body, response) => send(response, 418, '{}'))
  t.match(await bench('--url', url, '--token', 'x', '--rounds', '1'), { code: 1, err: /is not right.*status 418 where 200 was expected/ })
})

t.test('Ctrl-C ends all that was started and removes the temporary folder', async (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'bench-test-'))
  t.teardown(() => rmSync(parent, { recursive: true, force: true }))
  const child = spawn(process.execPath, [...main, '--servers', 'bare', '--folder', parent, '--duration', '30'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const url = await serverIn(parent)
  child.kill('SIGINT')
  t.equal(await gone, 130)
  t.strictSame(readdirSync(parent), [])
  await t.rejects(async () => {
    // The kill is on its way when the suite is gone.
    for (let turn = 0; turn < 100; turn++) {
      await fetch(url, { method: 'POST', body: '{}' })
      await sleep(10)
    }
  })
})

/** Where the server under measurement listens, from its log. */
async function serverIn (parent: string): Promise<string> {
  for (let turn = 0; turn < 1000; turn++) {
    await sleep(10)
    for (const file of readdirSync(parent, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('server.log')) continue
      const found = /http:\/\/\S+/.exec(readFileSync(join(parent, file), 'utf8'))
      if (found !== null) return found[0]
    }
  }
  throw new Error('no server was started')
}
