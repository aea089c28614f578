/*
 * Kills workers repeatedly under load, and counts the requests that got neither a response nor a closed connection:
 *
 *   npm run compile && node build/test/faults/kill-workers.js [times] [workers] [milliseconds each is ready]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { childrenOf, startService, token } from '../support/process/program.js'

export interface KillWorkersResult {
  /** Requests by outcome, of clients with keep-alive connections. */
  keepAlive: PlantClients['counts']
  /** Requests by outcome, of clients with a new connection for each request. */
  reconnecting: PlantClients['counts']
  /** How many workers the service saw exit. */
  exits: number
}

/** Workers that were ready for a second are replaced without growing delays. */
const SETTLED_MS = 1_100

/**
 * Kills workers, always the one that has been ready for the longest, while at least two are ready.
 * @param options.settledMs how long a worker must have been ready before it is killed
 */
export async function killWorkers (
  t: Parameters<typeof startService>[0], { times = 60, workers = 4, settledMs = SETTLED_MS } = {}
): Promise<KillWorkersResult> {
  const service = await startService(t, { WORKERS: String(workers) })
  const clients = [false, true].map(reconnect => new PlantClients(overHttp(service.address, token, { reconnect })))
  const stops = clients.map(client => client.start(16))
  const logged = (text: string) => service.log.filter(({ msg }) => String(msg).startsWith(text))
  const initial = childrenOf(service.pid).map(worker => ({ worker, time: Date.now() }))
  for (let killed = 0; killed < times; killed++) {
    for (;;) {
      const replaced = logged('a worker was replaced').map(({ worker, time }) => ({ worker: Number(worker), time: Number(time) }))
      const [oldest, another] = [...initial, ...replaced].slice(killed)
      if (oldest !== undefined && another !== undefined && Date.now() - oldest.time >= settledMs) {
        process.kill(oldest.worker, 'SIGKILL')
        break
      }
      await sleep(20)
    }
    while (logged('a worker exited').length === killed) await sleep(5)
  }
  await Promise.all(stops.map(stop => stop()))
  const [keepAlive = {}, reconnecting = {}] = clients.map(({ counts }) => counts)
  await service.end('SIGTERM')
  return { keepAlive, reconnecting, exits: logged('a worker exited').length }
}

if (process.argv[1] === import.meta.filename) {
  const [times, workers, settledMs] = process.argv.slice(2).map(Number)
  const teardowns: (() => unknown)[] = []
  const result = await killWorkers({ teardown: task => teardowns.unshift(task) }, { times, workers, settledMs })
  console.log(result)
  for (const teardown of teardowns) await teardown()
  process.exit('hanging' in result.keepAlive || 'hanging' in result.reconnecting ? 1 : 0)
}
