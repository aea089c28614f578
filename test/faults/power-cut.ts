import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { preloaded } from '../support/process/failing-calls.js'
import { Program, testFolder, token } from '../support/process/program.js'

type Test = Parameters<typeof testFolder>[0]

interface PoweredRun { clients: PlantClients, program: Program, path: string, trace: string[] }

/**
 * Runs the service under load on the disk simulated by `power-cut.c`, until the power is cut or the time is up.
 * @param env variables of the service and of `power-cut.c`
 */
export async function runPowered (t: Test, env: Record<string, string>, ms: number): Promise<PoweredRun> {
  const folder = testFolder(t)
  const data = join(folder, 'new', 'data')
  const trace = join(folder, 'trace')
  const library = preloaded('test/faults/power-cut.c', folder)
  const power = { LD_PRELOAD: library, POWER_FOLDER: folder, POWER_TRACE: trace }
  const program = new Program([], { PORT: '0', ACCESS_TOKENS: token, DATA_DIR: data, ...power, ...env })
  t.teardown(() => program.end('SIGKILL'))
  // The power may be cut before the service is ready.
  const address = await program.ready().catch(error => { if (env.POWER_CUT_AT === undefined) throw error })
  const clients = new PlantClients(overHttp(address ?? 'http://127.0.0.1:1', token))
  if (address !== undefined) await clients.load({ ms, untilCut: true, name: id => `proof-${id}` })
  await program.end('SIGKILL')
  return { clients, program, path: join(data, 'plants.db'), trace: readFileSync(trace, 'utf8').split('\n') }
}
