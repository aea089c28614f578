import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Spec } from '../plan/cases.js'
import { variant } from '../plan/contenders.js'
import { startProcess } from '../run/start-process.js'

const WARM_UPS = 1 // which make the store, and fill caches

/** Starts the process of each server in turns, and stops it when it listens. Returns the times until then, in µs. */
export async function timesOfStarts (
  specs: readonly Spec[], turns: number, folder: string, token: string
): Promise<number[][]> {
  const servers = specs.map(({ server }, index) => {
    const { module, node, environment } = variant(server)
    const dataFolder = join(folder, `${index}`)
    mkdirSync(dataFolder)
    const start = {
      node,
      environment: { ...environment, ACCESS_TOKENS: token, DATA_DIR: dataFolder },
      logFile: join(dataFolder, 'server.log')
    }
    return { module, start }
  })
  const times: number[][] = servers.map(() => [])
  for (let turn = 0; turn < WARM_UPS + turns; turn++) {
    for (const [index, { module, start }] of servers.entries()) {
      const { startedIn, stop } = await startProcess(module, start)
      await stop()
      if (turn >= WARM_UPS) times[index]?.push(startedIn * 1000)
    }
  }
  return times
}
