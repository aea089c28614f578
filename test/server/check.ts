import { reasonOf, Wrong, type Behaviour, type Server } from './behaviour.js'
import { commandBehaviours } from './commands.js'
import type { Connection } from './connection.js'
import { idBehaviours } from './ids.js'
import { insertBehaviours } from './inserts.js'
import { killBehaviours } from './kills.js'
import { orderBehaviours } from './opposite-orders.js'
import { plantBehaviours } from './plants.js'
import { conclusionOf, differencesFrom, lineOf, type Observation } from './report.js'
import type { StartedServer } from './started-server.js'

/** All that is looked at without a kill. */
export const behaviours: readonly Behaviour[] = [
  // First those that inform: where the others fail, they may take all the time.
  ...idBehaviours, ...insertBehaviours, ...commandBehaviours, ...plantBehaviours, ...orderBehaviours
]

const TIME_LIMIT_MS = 50_000
/** For one behaviour. */
const PATIENCE_MS = 15_000
/** For the kills: a server may take a while to start again. */
const KILL_PATIENCE_MS = 300_000

interface Choices {
  /** The server, if it may be killed. */
  killable: StartedServer | undefined
  /** A column of the page, which is compared with what is seen. */
  column: string | undefined
}

/**
 * Looks at a server, and prints a line for each behaviour.
 * @param signal ends it after the present behaviour
 * @returns whether this service is right there, as far as it was looked at
 */
export async function check (
  connection: Connection, signal: AbortSignal, { killable, column }: Choices
): Promise<boolean> {
  console.log(`The server says that it is ${connection.says}. The database is ${connection.database.databaseName}.\n`)
  const observations: Observation[] = []
  const end = performance.now() + TIME_LIMIT_MS
  for (const behaviour of behaviours) {
    if (signal.aborted) break
    const patience = Math.min(PATIENCE_MS, end - performance.now())
    observations.push(print(await observe(behaviour, connection, patience)))
  }
  const differences = column === undefined ? [] : differencesFrom(column, observations)
  const kills = killable === undefined || signal.aborted ? [] : killBehaviours(killable, console.error)
  for (const behaviour of kills) observations.push(print(await observe(behaviour, connection, KILL_PATIENCE_MS)))
  const isRight = !observations.some(({ isWrong }) => isWrong)
  if (signal.aborted) return isRight
  console.log(`\n${conclusionOf(observations)}`)
  for (const difference of differences) console.log(`The page differs: ${difference}`)
  return isRight
}

function print (observation: Observation): Observation {
  console.log(lineOf(observation))
  return observation
}

async function observe (behaviour: Behaviour, server: Server, patience: number): Promise<Observation> {
  const { decides = false } = behaviour
  if (patience <= 0) return { behaviour, text: 'not tried: the time is up', isWrong: decides }
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => { reject(new Wrong(`no response in ${Math.round(patience / 1_000)} s`)) }, patience)
  })
  try {
    return { behaviour, text: await Promise.race([behaviour.observe(server), timeout]), isWrong: false }
  } catch (error) {
    return { behaviour, text: reasonOf(error), isWrong: decides }
  } finally {
    clearTimeout(timer)
  }
}
