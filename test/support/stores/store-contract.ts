import type { Test } from 'tap'
import { plantStoreContract } from '../../../src/stores/contract.js'
import type { NewPlace } from './places.js'

/** Every sentence that `PlantStore` promises, for the stores at places of one kind. */
export function storeContract (t: Test, newPlace: NewPlace): void {
  for (const { name, check } of plantStoreContract) {
    t.test(name, async t => {
      const skipped = await check(async () => {
        const { store, stored } = await newPlace(t)
        return { store: store(), another: store, stored }
      })
      t.equal(skipped, undefined, 'all of it was looked at')
    })
  }
}
