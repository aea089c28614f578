import t from 'tap'
import { create, startService } from '../support/process/program.js'

// SIGUSR1 starts to block the event loop, for 800 ms at a time; a second one stops it.
const blocker = `
  let isBlocking = false
  process.on("SIGUSR1", () => {
    isBlocking = !isBlocking
    const block = () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800)
      if (isBlocking) setTimeout(block, 5)
    }
    if (isBlocking) block()
  })`

t.test('while the event loop lags, plants are refused, and /health/ready says why', async t => {
  const service = await startService(t, {}, { preload: ['--import', `data:text/javascript,${encodeURIComponent(blocker)}`] })
  service.child.kill('SIGUSR1')
  await new Promise(resolve => setTimeout(resolve, 2_500))
  const [refused, ready, live] = await Promise.all([
    create(service.address), fetch(`${service.address}/health/ready`), fetch(`${service.address}/health/live`)
  ])
  t.equal(refused.status, 503)
  t.match(await refused.json(), { error: 50301, message: /overloaded/ })
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  t.equal(ready.status, 503)
  t.match(await ready.json(), { error: 50301, message: 'Not ready: the service is overloaded' })
  t.equal(live.status, 200)

  service.child.kill('SIGUSR1')
  for (let tries = 0; tries < 40 && !(await fetch(`${service.address}/health/ready`)).ok; tries++) await new Promise(resolve => setTimeout(resolve, 100))
  t.equal((await create(service.address)).status, 200, 'plants are stored again once the event loop has recovered')
})
