// What is used of the driver's `Collection`, `Db` and `MongoClient`. The host's copy of the driver may not be this
// package's: private members would make their types incompatible, while any driver 7 satisfies these.

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
  on (event: typeof EVENTS[number], listener: (event: DriverEvent) => void): unknown
  off (event: typeof EVENTS[number], listener: (event: DriverEvent) => void): unknown
  close (): Promise<void>
}

export const EVENTS = ['commandStarted', 'connectionPoolCleared', 'connectionClosed'] as const

/** The driver's `CommandStartedEvent`, `ConnectionPoolClearedEvent` or `ConnectionClosedEvent`. */
export interface DriverEvent {
  command?: { comment?: unknown }
  reason?: string
  /** Set if a connection could not be made. */
  error?: unknown
}
