import type { Test } from 'tap'
import { plantStoreContract } from '../../../src/stores/contract.js'
import type { NewPlace } from './places.js'

/** Runs every check of the `PlantStore` contract on one kind of store. */
export function storeContract (t: Test, newPlace: NewPlace): void {
  for (const { name, check } of plantStoreContract) {
    t.test(name, async t => {
      const skipped = await check(async () => {
        const { store, stored } = await newPlace(t)
        return { store: store(), another: store, stored }
      })
      t.equal(skipped, undefined, 'nothing was skipped')
    })
  }
}
