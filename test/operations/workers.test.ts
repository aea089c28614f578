import { execFileSync } from 'node:child_process'
import t from 'tap'
import { failingCalls, withCompiler } from '../failing-calls.js'
import { create, startService, testFolder, token } from '../program.js'

/** The process ids of a process's children. */
function childrenOf (pid: number | undefined): number[] {
  return execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' }).split('\n').filter(Boolean).map(Number)
    .filter(child => execFileSync('ps', ['-o', 'args=', '-p', String(child)], { encoding: 'utf8' }).includes('main'))
}

t.test('two workers share one port, one made token, one ready line, and count together', async t => {
  const service = await startService(t, { WORKERS: '2', ACCESS_TOKENS: undefined, METRICS_PORT: '0' })
  t.equal(service.stdout.match(/ready at/g)?.length, 1)
  const made = /token {7}(\S+) \(made/.exec(service.stdout)?.[1] as string
  const { port } = await service.logged('metrics at port')
  t.equal(childrenOf(service.child.pid).length, 2)
  for (let i = 0; i < 8; i++) t.equal((await create(service.address, { bearer: made, id: 100 + i })).status, 200)
  t.equal((await create(service.address, { bearer: token })).status, 401)
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  t.match(text, /^http_requests_total\{method="POST",route="\/plants",status_code="200"\} 8$/m)
  t.match(text, /^http_requests_total\{method="POST",route="\/plants",status_code="401"\} 1$/m)
  t.match(text, /^plant_store_workers 2$/m)
})

t.test('a worker that dies is replaced; the port stays and what it counted stays', async t => {
  const service = await startService(t, { WORKERS: '2', METRICS_PORT: '0' }, { counted: true })
  const { port } = await service.logged('metrics at port')
  const scrape = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  for (let i = 0; i < 6; i++) await create(service.address)
  await scrape()
  const [first, second] = childrenOf(service.child.pid) as [number, number]
  for (const pid of [first, second]) process.kill(pid, 'SIGKILL')
  t.match(await service.logged('a worker ended; another starts in'), { level: 50, reason: 'SIGKILL' })
  await service.logged('a worker was replaced', 2)
  t.equal((await create(service.address)).status, 200)
  const text = await scrape()
  t.match(text, /^http_requests_total\{method="POST",route="\/plants",status_code="200"\} 7$/m)
  t.match(text, /^plant_store_worker_restarts_total 2$/m)
  service.child.kill('SIGTERM')
  t.equal((await service.ended).code, 0)
})

for (const kind of ['process', 'memory'] as const) {
  t.test(`where no process can be started (${kind}), a worker that dies is replaced as soon as one can`, withCompiler, async t => {
    const calls = failingCalls(testFolder(t))
    const service = await startService(t, { WORKERS: '2', ...calls.env })
    calls.begin(kind)
    process.kill(childrenOf(service.child.pid)[0] as number, 'SIGKILL')
    t.match(await service.logged('the new worker did not start; another starts in', 2), { level: 50, reason: /^spawn .*(EAGAIN|ENOMEM)$/ })
    t.equal((await create(service.address)).status, 200, 'meanwhile the other one serves')
    calls.end(kind)
    await service.logged('a worker was replaced')
    t.equal(childrenOf(service.child.pid).length, 2)
    service.child.kill('SIGTERM')
    t.equal((await service.ended).code, 0)
  })
}

t.test('a signal to all processes at once, as a terminal sends it, counts as one', async t => {
  const service = await startService(t, { WORKERS: '2' })
  for (const pid of [...childrenOf(service.child.pid), service.child.pid as number]) process.kill(pid, 'SIGINT')
  t.equal((await service.ended).code, 0)
  t.notMatch(service.stdout, /a worker ended/)
})
