import t from 'tap'
import { sqlitePlace } from '../support/stores/places.js'
import { storeContract } from '../support/stores/store-contract.js'

t.jobs = 2
t.test('the SQLite store keeps what PlantStore promises', { jobs: 2 }, async t => storeContract(t, sqlitePlace))
