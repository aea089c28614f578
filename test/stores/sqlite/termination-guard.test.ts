import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { TerminationGuard } from '../../../src/stores/sqlite/thread/termination-guard.js'
import { bare } from '../../support/process/bare.js'
import { compiledPackage } from '../../support/process/project.js'
import { plantsInFile } from '../../support/stores/sqlite-file.js'

t.test('a stopped thread starts no further task', async t => {
  const guard = new TerminationGuard()
  const other = new TerminationGuard(guard.memory)
  const done: string[] = []
  // What a stop waits for.
  const isWorking = () => Atomics.load(new Int32Array(guard.memory), 1) === 1
  guard.work(() => { done.push(isWorking() ? 'first' : 'idle') })
  t.notOk(isWorking())
  t.throws(() => guard.work(() => { throw new Error('task failed') }), { message: 'task failed' })
  t.notOk(isWorking())
  other.stop()
  guard.work(() => { done.push('second') })
  t.strictSame(done, ['first'])
  t.notOk(isWorking())
})

t.test('stopping a thread waits for its current task', async t => {
  const guard = new TerminationGuard()
  const worker = new Worker(`
    const { workerData, parentPort } = require('node:worker_threads')
    const state = new Int32Array(workerData)
    Atomics.store(state, 1, 1)
    parentPort.postMessage('works')
    setTimeout(() => { Atomics.store(state, 1, 0); Atomics.notify(state, 1) }, 500)`, { eval: true, workerData: guard.memory })
  await once(worker, 'message')
  guard.stop()
  t.equal(Atomics.load(new Int32Array(guard.memory), 1), 0, 'the task is complete')
  await once(worker, 'exit')
})

t.test('a process that exits during a write keeps its exit code and loses no acknowledged plant', async t => {
  const store = pathToFileURL(join(compiledPackage, 'src/stores/sqlite/sqlite-plant-store.js')).href
  const folder = t.testdir()
  for (let turn = 0; turn < 4; turn++) {
    const path = join(folder, `${turn}.db`)
    const child = spawn('env', bare({}, [process.execPath, '--input-type=module', '-e', `
      const { sqlitePlantStore } = await import(${JSON.stringify(store)})
      const store = sqlitePlantStore({ path: ${JSON.stringify(path)} })
      await store.open()
      let id = 0n
      let stored = 0
      const client = async () => { for (;;) { await store.create({ id: ++id, name: 'x' }, performance.now() + 10_000); stored++ } }
      await store.create({ id: 0n, name: 'x' }, performance.now() + 10_000)
      for (let i = 0; i < 500; i++) client()
      while (stored === 0) await new Promise(resolve => setTimeout(resolve, 5))
      setTimeout(() => { process.stdout.write(String(stored)); process.exit(3) }, ${100 + 37 * turn})`]), { stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', text => { stdout += text })
    child.stderr.on('data', text => { stderr += text })
    const [code, signal] = await once(child, 'close')
    t.strictSame([code, signal, stderr], [3, null, ''])
    t.ok(Number(stdout) > 0 && plantsInFile(path).size >= Number(stdout), `${stdout} acknowledged`)
  }
})
