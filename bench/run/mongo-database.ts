import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { messageOf } from '../../src/error-message.js'
import type { Results } from '../results.js'
import { startProcess } from './start-process.js'

let databases = 0

/** Opens the run's own database on a MongoDB, if none is given a scripted one. A distance is ms of round-trip time. */
export async function openMongoDatabase (given: string | undefined, folder: string, distance: number | undefined) {
  const scripted = given === undefined
    ? await startProcess(new URL('../../test/support/scripted-mongodb/main.js', import.meta.url), { logFile: join(folder, 'mongodb.log') })
    : undefined
  const near = withDatabase(given ?? scripted?.address ?? '', `plant_store_bench_${process.pid}_${++databases}`)
  const [{ host = '127.0.0.1', port = 27017 } = {}] = new MongoClient(near).options.hosts
  const proxy = distance === undefined
    ? undefined
    : await startProcess(new URL('delaying-proxy.js', import.meta.url), { words: [host, String(port), String(distance)], logFile: join(folder, 'proxy.log') })
  // Otherwise the driver would use the addresses that a replica set announces, and bypass the proxy.
  const url = proxy === undefined ? near : withParameter(near.replace(/^(mongodb:\/\/(?:[^@/]*@)?)[^/]*/, `$1${new URL(proxy.address).host}`), 'directConnection=true')
  return {
    url,
    /** The number of plants in it; undefined if this MongoDB cannot count them. */
    count: () => withClient(near, client => client.db().collection('plants').countDocuments()).catch(() => undefined),
    async stop () {
      await proxy?.stop()
      if (scripted !== undefined) return await scripted.stop()
      // The results, or an earlier error, are worth more.
      await withClient(near, client => client.db().dropDatabase()).catch(error => console.error(`bench: the databases plant_store_bench_${process.pid}_* remain: ${messageOf(error)}`))
    }
  }
}

/** The build information of a MongoDB, and its address without credentials. */
export async function describeMongo (url: string): Promise<Results['mongodb']> {
  return await withClient(url, async client => ({ address: client.options.hosts.join(), buildInfo: await client.db('admin').command({ buildInfo: 1 }) }))
}

/** Replaces the database in the path, and keeps the one in which the credentials are looked up. */
function withDatabase (url: string, database: string): string {
  const [, start = url, before = '', query = ''] = /^(mongodb(?:\+srv)?:\/\/[^/?]*)\/?([^?]*)(\?.*)?$/.exec(url) ?? []
  const named = `${start}/${database}${query}`
  return start.includes('@') && !query.includes('authSource=') ? withParameter(named, `authSource=${before === '' ? 'admin' : before}`) : named
}

const withParameter = (url: string, parameter: string): string => `${url}${url.includes('?') ? '&' : '?'}${parameter}`

async function withClient<T> (url: string, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 5000 })
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}
