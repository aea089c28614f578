import t from 'tap'
import { mongodb } from '../mongodb-for-tests.js'
import { mongoPlace, scriptedPlace } from '../places.js'
import { storeContract } from './store-contract.js'

t.test('the MongoDB store keeps what PlantStore promises, on a scripted MongoDB', async t => storeContract(t, scriptedPlace))

const { missing } = await mongodb()
t.test('the MongoDB store keeps what PlantStore promises, on a real MongoDB', { skip: missing ?? false }, async t => storeContract(t, mongoPlace))
