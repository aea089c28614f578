// The parts of the driver's classes that are used. The host's copy of the driver may not be this package's: private
// members would make their types incompatible, while any driver 7 satisfies these.

/** The driver's `Collection`. */
export interface MongoCollection {
  readonly collectionName: string
  readonly db: MongoDatabase
  find (filter: object, options: object): { toArray (): Promise<object[]> }
}

/** The driver's `Db`. */
export interface MongoDatabase {
  readonly databaseName: string
  readonly client: MongoDriverClient
  collection (name: string): MongoCollection
  command (command: object, options: object): Promise<object>
}

/** The driver's `MongoClient`. */
export interface MongoDriverClient {
  readonly options: { readonly dbName: string, readonly socketTimeoutMS: number, readonly monitorCommands: boolean }
  db (name: string): MongoDatabase
  on (event: 'commandStarted', listener: (event: CommandStarted) => void): unknown
  on (event: 'connectionPoolCleared', listener: () => void): unknown
  off (event: 'commandStarted', listener: (event: CommandStarted) => void): unknown
  off (event: 'connectionPoolCleared', listener: () => void): unknown
  close (): Promise<void>
}

/** The driver's `CommandStartedEvent`. */
export interface CommandStarted {
  command: { comment?: unknown }
}
