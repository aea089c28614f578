/*
 * Ends the service again and again under load, and counts the requests that were sent and got no answer:
 *
 *   npm run compile && node build/test/operations/rolling-restarts.js [times] [workers]
 */
import { closedLoopClients } from './closed-loop-clients.js'
import { startService, token } from '../program.js'

const [times = 20, workers = 1] = process.argv.slice(2).map(Number)
let cut = 0
for (let i = 1; i <= times; i++) {
  const ends: (() => unknown)[] = []
  const service = await startService({ teardown: end => ends.unshift(end) }, { WORKERS: String(workers) })
  const stop = closedLoopClients(service.address, 64, token)
  await new Promise(resolve => setTimeout(resolve, 500))
  const start = performance.now()
  service.child.kill('SIGTERM')
  const { code } = await service.ended
  const took = Math.round(performance.now() - start)
  const tally = await stop()
  console.log(`${i}: exit ${code} after ${took} ms, answers ${JSON.stringify([...tally.answers])}, cut ${tally.cut.length} ${[...new Set(tally.cut)]}, refused ${tally.refused}`)
  if (tally.cut.length > 0) console.log(service.stdout, service.stderr)
  cut += tally.cut.length
  for (const end of ends) await end()
}
console.log(`${cut} requests without an answer in ${times} ends`)
process.exit(cut === 0 ? 0 : 1)
