import fastify, { type FastifyRequest } from 'fastify'
import { MongoClient } from 'mongodb'
import plantStore, {
  channels, errorCodes, mongoPlantStore, PlantNotStored, PlantOutcomeUnknown, sqlitePlantStore, type ApiError,
  type CreateOutcome, type ErrorCode, type ErrorName, type MongoPlantStoreOptions, type NewPlant, type PlantStore,
  type PlantStoreOptions, type SqlitePlantStoreOptions, type Tokens
} from '../../src/index.js'
import { plantStoreContract, type NewStoreSetup, type StoreCheck } from '../../src/stores/contract.js'

// Code that a host in TypeScript may and may not contain. It is compiled with the tests, and never run.

class OwnStore implements PlantStore {
  async create (plant: NewPlant, deadline: number): Promise<CreateOutcome> {
    if (deadline > 0) throw new PlantNotStored('no', { permanent: true, cause: plant.id })
    throw new PlantOutcomeUnknown(plant.tag ?? plant.name)
  }
}

const tokens: Tokens = (token: string, request: FastifyRequest) => token === request.ip
const options: PlantStoreOptions = {
  store: new OwnStore(), tokens, bodyLimit: undefined, storeTimeout: undefined, queueLimit: undefined
}
const file: SqlitePlantStoreOptions = { path: 'plants.db' }
const url: MongoPlantStoreOptions = { url: 'mongodb://127.0.0.1', storeTimeout: 1 }

export const hosts = (): unknown[] => [
  fastify().register(plantStore, options),
  fastify({ logger: true }).register(plantStore, { prefix: '/v1', logLevel: 'warn', ...options, tokens: ['a'] }),
  fastify({ http2: true }).register(plantStore, { store: mongoPlantStore(url), tokens: new Set(['a']) }),
  fastify({ https: {} }).register(plantStore, {
    store: mongoPlantStore({ client: new MongoClient('') }), tokens: async (token, { headers }) => headers.a === token
  }),
  fastify().register(plantStore, { ...options, store: sqlitePlantStore(file), bodyLimit: 1 }),
  fastify().register(import('../../src/index.js'), options),
  // @ts-expect-error there is no store
  fastify().register(plantStore, { tokens: [] }),
  // @ts-expect-error a string is no list of tokens
  fastify().register(plantStore, { ...options, tokens: 'a-token' }),
  // @ts-expect-error there are no tokens
  fastify().register(plantStore, { store: new OwnStore() }),
  // @ts-expect-error there is no such option
  fastify().register(plantStore, { ...options, bodyLimits: 1 }),
  // @ts-expect-error a limit is a number
  fastify().register(plantStore, { ...options, bodyLimit: '1' }),
  // @ts-expect-error one of url, client, db and collection is required
  mongoPlantStore({}),
  // @ts-expect-error a path is required
  sqlitePlantStore({})
]

// @ts-expect-error there is no such outcome
export const wrongStore: PlantStore = { create: async () => 'ok' }
// @ts-expect-error an id is a bigint
export const wrongPlant: NewPlant = { id: 1, name: '' }

const setup: NewStoreSetup = () => ({
  store: options.store, another: () => new OwnStore(), stored: async () => new Map(), cleanup () {}
})
const checks: readonly StoreCheck[] = plantStoreContract
export const checked: Promise<string | undefined>[] = checks.map(({ check }) => check(setup))

const code: ErrorCode = 'PLANT_STORE_ID_TAKEN'
// @ts-expect-error there is no such code
export const wrongCode: ErrorCode = 'PLANT_STORE_IDTAKEN'
const name: ErrorName = 'idTaken'
export const isTaken = (error: ApiError): boolean => error.code === code && error.error === errorCodes[name][1]

channels.batchEnd.subscribe(({ plants, milliseconds }) => [plants.toFixed(), milliseconds?.toFixed()])
// @ts-expect-error a message of this channel has no plants
channels.queue.subscribe(({ plants }) => plants)
