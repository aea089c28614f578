import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { messageOf } from '../../src/error-message.js'
import type { Results } from '../report/results.js'
import { startProcess } from '../run/start-process.js'
import { FIRST_FILLED } from '../servers/stores/sqlite.js'

const scriptedMongo = new URL('../../test/support/scripted-mongodb/main.js', import.meta.url)
let databases = 0

/** Opens the run's own database on a MongoDB, if none is given a scripted one. A distance is ms of round-trip time. */
export async function openMongoDatabase (given: string | undefined, folder: string, distance: number | undefined) {
  const logFile = join(folder, 'mongodb.log')
  const scripted = given === undefined ? await startProcess(scriptedMongo, { logFile }) : undefined
  const near = withDatabase(given ?? scripted?.address ?? '', `plant_store_bench_${process.pid}_${++databases}`)
  const proxy = distance === undefined ? undefined : await startProxy(near, distance, join(folder, 'proxy.log'))
  return {
    environment: { MONGODB_URL: proxy?.url ?? near },
    fill: async (count: number) => await withClient(near, async client => await fillMongo(client, count)),
    /** The number of plants in it; undefined if this MongoDB cannot count them. */
    count: () => withClient(near, client => client.db().collection('plants').countDocuments()).catch(() => undefined),
    async stop () {
      await proxy?.stop()
      if (scripted !== undefined) return await scripted.stop()
      // The results, or an earlier error, are worth more.
      await withClient(near, client => client.db().dropDatabase()).catch(error => {
        console.error(`bench: the databases plant_store_bench_${process.pid}_* remain: ${messageOf(error)}`)
      })
    }
  }
}

/** Adds so many plants, in batches of which several are in flight. */
async function fillMongo (client: MongoClient, count: number): Promise<void> {
  const plants = client.db().collection<{ _id: number, name: string, tag: string }>('plants')
  let next = 0
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (next < count) {
      const first = next
      next = Math.min(count, first + 2000)
      await plants.insertMany(Array.from({ length: next - first }, (_, n) =>
        ({ _id: FIRST_FILLED + first + n, name: 'Monstera deliciosa', tag: 'Araceae' })))
    }
  }))
}

/** Replaces the database in the path, and keeps the one in which the credentials are looked up. */
function withDatabase (url: string, database: string): string {
  const { credentials } = new MongoClient(url).options
  const named = url.replace(/^([^/]*\/\/[^/?]*)\/?[^?]*/, `$1/${database}`)
  if (credentials === undefined || url.includes('authSource=')) return named
  return withParameter(named, `authSource=${credentials.source}`)
}

const withParameter = (url: string, parameter: string): string => `${url}${url.includes('?') ? '&' : '?'}${parameter}`

async function startProxy (near: string, distance: number, logFile: string) {
  const [host] = new MongoClient(near).options.hosts
  const proxy = new URL('delaying-proxy.js', import.meta.url)
  const { address, stop } = await startProcess(proxy, { words: [`${host}`, `${distance}`], logFile })
  const url = near.replace(/^(mongodb:\/\/(?:[^@/]*@)?)[^/]*/, `$1${new URL(address).host}`)
  // Otherwise the driver would use the addresses that a replica set announces, and bypass the proxy.
  return { url: withParameter(url, 'directConnection=true'), stop }
}

/**
 * Describes a MongoDB, or a server compatible with it, without the credentials of its address.
 * @throws {Error} that names its address, if it does not respond
 */
export async function describeMongo (url: string): Promise<NonNullable<Results['mongodb']>> {
  const hosts = new MongoClient(url).options.hosts.join()
  const buildInfo = await withClient(url, client => client.db('admin').command({ buildInfo: 1 })).catch(error => {
    throw new Error(`--mongodb: no MongoDB responds at ${hosts}, start it or correct the address: ${messageOf(error)}`)
  })
  const { process: name = 'mongod', ferretdbVersion, version } = buildInfo
  const program = ferretdbVersion === undefined ? String(name).replace(/^mongo[ds]$/, 'MongoDB') : 'FerretDB'
  const caveat = program === 'MongoDB' ? '' : ' (not MongoDB; durability not checked)'
  return { program, description: `${program} ${ferretdbVersion ?? version}${caveat} at ${hosts}` }
}

async function withClient<T> (url: string, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 5000 })
  return await use(client).finally(() => client.close())
}
