import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { failingCalls, withCompiler } from '../../support/process/failing-calls.js'
import { heldStart } from '../../support/process/held-start.js'
import { create, launch, run, startService, testFolder, token } from '../../support/process/program.js'
import { program } from '../../support/process/project.js'

t.test('a port in use is reported in one line', async t => {
  const first = await startService(t)
  const { port } = new URL(first.address)
  for (const WORKERS of ['1', '2']) {
    const env = { PORT: port, DATA_DIR: first.folder, ACCESS_TOKENS: token, WORKERS }
    const { code, stderr } = await run([], env, { counted: true })
    t.equal(code, 1)
    t.match(stderr, new RegExp(`^plant-store: .*EADDRINUSE.*${port}: check HOST, PORT and METRICS_PORT\n$`))
  }
  t.equal((await create(first.address)).status, 200)
})

for (const kind of ['process', 'files'] as const) {
  t.test(`if no process can be started (${kind}), a service with workers reports it in one line`, withCompiler, async t => {
    const folder = testFolder(t)
    const calls = failingCalls(folder)
    calls.begin(kind)
    const { code, stderr } = await run([], { PORT: '0', DATA_DIR: folder, ACCESS_TOKENS: token, WORKERS: '2', ...calls.env })
    t.equal(code, 1)
    t.match(stderr, /^plant-store: spawn .*(EAGAIN|EMFILE): raise the limits of processes, memory and open files, or lower WORKERS\n$/)
  })
}

t.test('SIGHUP during a startup that fails changes nothing of its message', async t => {
  const first = await startService(t)
  const folder = testFolder(t)
  const start = heldStart(folder)
  start.hold()
  const service = launch(t, { PORT: new URL(first.address).port, DATA_DIR: folder, ACCESS_TOKENS: token }, start)
  process.kill(await start.isHeld(), 'SIGHUP')
  start.release()
  t.match(await service.ended, { code: 1, stdout: '', stderr: /^plant-store: .*EADDRINUSE.*\n$/ })
})

for (const option of ['--help', '--version']) {
  t.test(`${option} exits with 0 and without a message if nobody reads its output`, async t => {
    const child = spawn(process.execPath, [program, option])
    child.stdout.destroy()
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
    t.strictSame(await once(child, 'close'), [0, null])
    t.equal(stderr, '')
  })
}

t.test('SIGTERM is handled even while the program is loading, as a process with PID 1 would otherwise ignore it', async t => {
  // Evaluated in the module, since Node 24 runs no handler while a hook is pending.
  const wait = "process.kill(process.pid, 'SIGTERM'); await new Promise(resolve => setTimeout(resolve, 1000))"
  const hook = `export async function load (url, context, next) {
    const loaded = await next(url, context)
    if (!url.endsWith('/command-line.js')) return loaded
    return { ...loaded, source: ${JSON.stringify(`${wait};`)} + Buffer.from(loaded.source) }
  }`
  const preload = `import { register } from 'node:module'; register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}))`
  const service = launch(t, { DATA_DIR: t.testdir(), ACCESS_TOKENS: token }, { preload: ['--disable-warning=DEP0205', '--import', `data:text/javascript,${encodeURIComponent(preload)}`] })
  t.match(await service.ended, { code: 143, signal: null, stdout: '', stderr: '' })
})

for (const module of ['/service/serve.js', '/cluster/worker.js']) {
  t.test(`SIGHUP while ${module} is loading does not end the process`, async t => {
    const folder = testFolder(t)
    const start = heldStart(folder, module)
    start.hold()
    const service = launch(t, { DATA_DIR: folder, ACCESS_TOKENS: token, WORKERS: '2' }, start)
    process.kill(await start.isHeld(), 'SIGHUP')
    start.release()
    t.equal((await create(await service.ready())).status, 200)
    t.equal((await service.end('SIGTERM')).code, 0)
  })
}
