// What is used of the driver's `Collection`, `Db` and `MongoClient`. The host's copy of the driver may not be this
// package's: private members would make their types incompatible, while any driver 7 satisfies these.

/**
 * How commands run, whatever the client's own options are. Integers are decoded as numbers if they are exact, otherwise
 * as Long: with `useBigInt64` the driver's monitor would throw an uncaught error on a topology version.
 */
export const COMMAND_OPTIONS = {
  readPreference: 'primary', raw: false, promoteValues: true, promoteLongs: true, useBigInt64: false
} as const

/** What an insert asks for: the majority has it in its journal, so that it can no longer be rolled back. */
export const DURABLE = { writeConcern: { w: 'majority', j: true } } as const

export interface MongoCollection {
  readonly collectionName: string
  readonly db: MongoDatabase
  find (filter: object, options: object): { toArray (): Promise<object[]> }
}

export interface MongoDatabase {
  readonly client: MongoDriverClient
  collection (name: string): MongoCollection
  command (command: object, options: object): Promise<object>
}

export interface MongoDriverClient {
  readonly options: { dbName: string, connectTimeoutMS: number, socketTimeoutMS: number, monitorCommands: boolean }
  db (name: string): MongoDatabase
  on (event: string, listener: (event: any) => void): unknown
  off (event: string, listener: (event: any) => void): unknown
  close (): Promise<void>
}

/** The driver's `CommandStartedEvent`: emitted just before the command is serialized and written. */
export interface CommandStarted {
  command: { comment?: unknown }
  /** Of the connection: the IP address to which the server's name resolved, and the port. */
  address: string
  /** Unique among the connections to one server. */
  connectionId?: unknown
}

/** The driver's events of the pool of connections to one server. */
export interface ConnectionEvent {
  /** The server, as the topology names it. */
  address: string
  connectionId?: unknown
  /** Of `connectionClosed`, if the connection could not be made. */
  error?: unknown
}

/** The driver's `TopologyDescriptionChangedEvent`. */
export interface TopologyChange {
  newDescription: Topology
}

/** What the driver knows of the servers. */
export interface Topology {
  servers: ReadonlyMap<string, ServerDescription>
}

export interface ServerDescription {
  address: string
  type: string
  error: Error | null
  /** On the clock of `performance.now()`. */
  lastUpdateTime: number
}
