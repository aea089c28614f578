import t from 'tap'
import { needs } from '../../support/process/needs.js'
import { mongodb } from '../../support/stores/mongodb-for-tests.js'
import { mongoPlace, scriptedPlace } from '../../support/stores/places.js'
import { storeContract } from '../../support/stores/store-contract.js'

t.test('the MongoDB store fulfills the PlantStore contract on a scripted MongoDB', async t => storeContract(t, scriptedPlace))

const { missing } = await mongodb()
t.test('the MongoDB store fulfills the PlantStore contract on a real MongoDB', needs(missing), async t => storeContract(t, mongoPlace))
