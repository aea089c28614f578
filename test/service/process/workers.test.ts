import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { RawConnection } from '../../support/http/raw-connection.js'
import { askEveryWorker } from '../../support/process/ask-every-worker.js'
import { failingCalls, withCompiler } from '../../support/process/failing-calls.js'
import { childrenOf, create, startService, testFolder, token } from '../../support/process/program.js'

t.test('two workers share the port and the generated token, log one ready line, and are counted together', async t => {
  const service = await startService(t, {
    WORKERS: '2', ACCESS_TOKENS: undefined, METRICS_PORT: '0', REQUEST_ID_HEADER: 'x-request-id'
  })
  t.equal(service.stdout.match(/ready at/g)?.length, 1)
  const generated = /token {7}(\S+) \(made/.exec(service.stdout)?.[1] as string
  const { port } = await service.logged('metrics on port')
  t.equal(childrenOf(service.child.pid).length, 2)
  const created = await askEveryWorker(service.address, { bearer: generated, status: 200 })
  const refused = await askEveryWorker(service.address, { bearer: token, status: 401 })
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  t.match(text, `http_requests_total{method="POST",route="/plants",status_code="200"} ${created}\n`)
  t.match(text, `http_requests_total{method="POST",route="/plants",status_code="401"} ${refused}\n`)
  t.match(text, /^plant_store_workers 2$/m)
  t.match(text, `plant_store_batch_plants_sum ${created}\n`, 'the first process, which writes, counts the batches')
})

for (const kind of ['process', 'memory', 'files'] as const) {
  t.test(`if no process can be started (${kind}), a worker that dies is replaced as soon as one can`, withCompiler, async t => {
    const calls = failingCalls(testFolder(t))
    const service = await startService(t, { WORKERS: '2', STORE_TIMEOUT: '1000', REQUEST_ID_HEADER: 'x-request-id', ...calls.env })
    calls.begin(kind)
    process.kill(childrenOf(service.child.pid)[0] as number, 'SIGKILL')
    t.match(await service.logged('the new worker did not start; another starts in', 4), { level: 50, reason: /^spawn .*(EAGAIN|ENOMEM|EMFILE)$/ })
    t.equal((await create(service.address)).status, 200, 'the other worker still serves')
    const delays = service.log.flatMap(({ msg }) => /another starts in (\d+) ms/.exec(String(msg))?.[1] ?? []).map(Number)
    t.strictSame(delays.slice(0, 5), [100, 200, 400, 800, 1_000], 'each attempt waits twice as long as the one before, up to a second')
    calls.end(kind)
    await service.logged('a worker was replaced')
    t.equal(childrenOf(service.child.pid).length, 2)
    await askEveryWorker(service.address, { status: 200 })
    service.child.kill('SIGTERM')
    t.equal((await service.ended).code, 0)
  })
}

for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
  t.test(`${signal} to all processes, as from a terminal, counts as one`, async t => {
    const service = await startService(t, { WORKERS: '2' })
    const connection = await RawConnection.open(t, Number(new URL(service.address).port))
    connection.write('POST /plants HTTP/1.1', 'Host: h', `Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Content-Length: 19', 'Expect: 100-continue', '', '')
    t.equal((await connection.answer()).status, 100, 'a worker has received the request')
    process.kill(service.pid, signal)
    await service.logged(`${signal}: finishing pending requests`)
    // A busy worker may handle the signal after the message of the primary.
    await sleep(200)
    for (const pid of childrenOf(service.pid)) process.kill(pid, signal)
    await sleep(500)
    connection.write('{"id":1,"name":"x"}')
    t.equal((await connection.answer()).status, 200)
    t.match(await service.ended, { code: 0, stderr: '' })
    t.notMatch(service.stdout, /a worker exited|second/)
  })
}

t.test('while the first process is suspended, workers accept connections, and respond that plants may have been stored', async t => {
  const service = await startService(t, { WORKERS: '2', STORE_TIMEOUT: '1500' })
  service.child.kill('SIGSTOP')
  for (let turn = 0; turn < 4; turn++) {
    const live = await fetch(`${service.address}/health/live`, { headers: { connection: 'close' }, signal: AbortSignal.timeout(10_000) })
    t.equal(live.status, 200)
  }
  const responses = await Promise.all([1, 2, 3].map(async id => create(service.address, { id })))
  t.strictSame(responses.map(({ status }) => status), [504, 504, 504])
  t.equal((await fetch(`${service.address}/health/ready`)).status, 503)
  service.child.kill('SIGCONT')
  t.equal((await create(service.address, { id: 4 })).status, 200)
  const again = await Promise.all([1, 2, 3].map(async id => create(service.address, { id })))
  t.strictSame(again.map(({ status }) => status), [200, 200, 200])
})

t.test('while readiness is probed, each create request gets its own response', async t => {
  const service = await startService(t, { WORKERS: '2', STORE_TIMEOUT: '3000' })
  await create(service.address, { id: 0 })
  const statuses = { new: new Set<number>(), taken: new Set<number>() }
  const ids = { last: 0 }
  const clients = Array.from({ length: 32 }, async () => {
    while (ids.last < 6_000) {
      const id = ++ids.last
      const isTaken = id % 2 === 0
      const { status } = await create(service.address, isTaken ? { id: 0, name: 'Fern' } : { id })
      statuses[isTaken ? 'taken' : 'new'].add(status)
    }
  })
  const probes = Array.from({ length: 4 }, async () => {
    while (ids.last < 6_000) await (await fetch(`${service.address}/health/ready`, { headers: { connection: 'close' } })).text()
  })
  await Promise.all([...clients, ...probes])
  t.strictSame(statuses, { new: new Set([200]), taken: new Set([400]) })
})
