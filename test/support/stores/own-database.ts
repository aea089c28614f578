import { randomBytes } from 'node:crypto'
import { MongoClient } from 'mongodb'

/**
 * A database with a random name in a MongoDB that may contain other data. Tests write to a MongoDB that they did not
 * start only through this class, so that no other database is modified.
 */
export class OwnDatabase {
  readonly name = `plant_store_test_${randomBytes(6).toString('hex')}`
  /** The URL of this database, with the credentials of the server's URL. */
  readonly url: string
  readonly client: MongoClient

  /** @param server the URL of the server; the database in its path is not modified */
  constructor (server: string) {
    this.url = urlOfDatabase(server, this.name)
    this.client = new MongoClient(this.url)
  }

  /** The contents of its collection `plants`: whole documents, by id. */
  async plants (): Promise<Map<bigint, Record<string, unknown>>> {
    const documents = await this.client.db().collection('plants').find({}, { useBigInt64: true }).toArray()
    return new Map(documents.map(({ _id, ...plant }) => [BigInt(String(_id)), plant]))
  }

  async drop (): Promise<void> {
    await this.client.db(this.name).dropDatabase()
    await this.client.close()
  }
}

/** Replaces the database in a URL, and keeps the credentials. */
function urlOfDatabase (url: string, database: string): string {
  const [, start = '', credentials = '', hosts = '', path = '', query = ''] =
    /^(mongodb(?:\+srv)?:\/\/)([^@/]*@)?([^/?]*)\/?([^?]*)\??(.*)$/.exec(url) ?? []
  const options = new URLSearchParams(query)
  // Otherwise the user would be looked up in the new database.
  if (credentials !== '' && !options.has('authSource')) options.set('authSource', path === '' ? 'admin' : path)
  return `${start}${credentials}${hosts}/${database}?${options}`
}
