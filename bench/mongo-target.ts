import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { startProcess } from './start-process.js'

export interface MongoTarget {
  /** What the server under measurement is given: a database of its own, perhaps behind the delaying proxy. */
  url: string
  /** How many plants it holds, or undefined where the server cannot count. */
  count: () => Promise<number | undefined>
  /** Milliseconds of one command and its answer, over the same way. */
  measuredDistance: () => Promise<number>
  stop: () => Promise<void>
}

let databases = 0

/** The given server with a database that is dropped afterwards; or else a scripted one in memory, fresh for each measurement. */
export async function mongoTarget (given: string | undefined, folder: string, distance: number | undefined): Promise<MongoTarget> {
  const stops: Array<() => Promise<void>> = []
  const stop = async (): Promise<void> => { for (const one of stops.reverse().splice(0)) await one() }
  try {
    let server = given
    if (server === undefined) {
      const words = ['--import=tsx', 'test/scripted-mongodb/main.ts', '--as', 'standalone', '--port', '0']
      const scripted = await startProcess({ arguments: words }, join(folder, 'scripted-mongodb.log'), /mongodb:\/\/\S+/)
      stops.push(scripted.stop)
      server = scripted.address
    }
    const direct = withDatabase(server, `plant_store_bench_${process.pid}_${++databases}`)
    if (given !== undefined) stops.push(async () => { await drop(direct) })
    const url = distance === undefined ? direct : await putAway(direct, distance)
    return {
      url,
      count: async () => await withClient(direct, async (client) => {
        return await client.db().collection('plants').countDocuments().catch(() => undefined)
      }),
      measuredDistance: async () => await withClient(url, async (client) => await ping(client)),
      stop
    }
  } catch (error) {
    await stop()
    throw error
  }

  async function putAway (url: string, milliseconds: number): Promise<string> {
    const [, host = '', port = '27017'] = /^mongodb:\/\/(?:[^@/]*@)?([^:/,]+)(?::(\d+))?/.exec(url) ?? []
    if (host === '') throw new Error('the distance needs a mongodb:// URL with one host')
    const words = ['--import=tsx', 'bench/servers/distance.ts', host, port, String(milliseconds)]
    const proxy = await startProcess({ arguments: words }, join(folder, 'distance.log'))
    stops.push(proxy.stop)
    const away = url.replace(/^(mongodb:\/\/(?:[^@/]*@)?)[^/]*/, `$1127.0.0.1:${new URL(proxy.address).port}`)
    // A replica set would name its own address, and the driver would go there, around the proxy.
    return withParameter(away, 'directConnection', 'true')
  }
}

/** A database of the run's own in the path; credentials stay with the database they were for. */
function withDatabase (url: string, database: string): string {
  const [, start = url, before = '', query = ''] = /^(mongodb(?:\+srv)?:\/\/[^/?]*)\/?([^?]*)(\?.*)?$/.exec(url) ?? []
  const named = `${start}/${database}${query}`
  if (!start.includes('@') || query.includes('authSource=')) return named
  return withParameter(named, 'authSource', before === '' ? 'admin' : before)
}

function withParameter (url: string, name: string, value: string): string {
  return url.includes(`${name}=`) ? url : `${url}${url.includes('?') ? '&' : '?'}${name}=${value}`
}

async function withClient<T> (url: string, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 5000 })
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

async function ping (client: MongoClient): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < 9; turn++) {
    const start = performance.now()
    await client.db('admin').command({ ping: 1 })
    times.push(performance.now() - start)
  }
  return times.sort((a, b) => a - b)[4] as number
}

async function drop (url: string): Promise<void> {
  await withClient(url, async (client) => await client.db().dropDatabase()).catch(() => {
    console.error(`the database of ${url.replace(/\/\/[^@/]*@/, '//')} could not be dropped`)
  })
}
