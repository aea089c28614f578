import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import { PlantNotStored, StoreUnusable, type NewPlant, type PlantStore } from '../../src/stores/plant-store.js'
import type { NewPlace } from '../places.js'

/** Every sentence that `PlantStore` promises, for the stores at places of one kind. */
export function storeContract (t: Test, newPlace: NewPlace): void {
  async function openStore (t: Test) {
    const place = await newPlace(t)
    const store = place.store() as Required<PlantStore>
    await store.open()
    const create = (plant: NewPlant) => store.create(plant, performance.now() + 10_000)
    return { place, store, create }
  }

  t.test('a plant whose create has resolved is there for another program, and for a store that is opened later', async t => {
    const { place, create, store } = await openStore(t)
    t.equal(await create({ id: 1n, name: 'Monstera deliciosa', tag: 'aroid' }), 'stored')
    t.strictSame(await place.stored(), new Map([[1n, { name: 'Monstera deliciosa', tag: 'aroid' }]]))
    await store.close()
    const later = place.store()
    await later.open?.()
    t.equal(await later.create({ id: 1n, name: 'Monstera deliciosa', tag: 'aroid' }, performance.now() + 10_000), 'same')
  })

  t.test('id, name and tag are kept to the last digit and character, and the very same plant is told from any other', async t => {
    const { place, create } = await openStore(t)
    const plants: NewPlant[] = [
      ...[0n, 1n, -1n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)]
        .map(id => ({ id, name: `plant ${id}` })),
      ...['', ' ', '\0', 'nul\0inside', '\u2028\u2029', '\u{10ffff}', '🪴 Zimmerpflanze', 'e\u0301', '\u00e9', '\ufeff', '\ufffd', '\uffff', '$name.first', 'x'.repeat(100_000)]
        .map((text, place) => ({ id: BigInt(100 + place), name: text, tag: text }))
    ]
    t.strictSame(await Promise.all(plants.map(create)), plants.map(() => 'stored'))
    const stored = await place.stored()
    for (const { id, ...rest } of plants) t.ok(isDeepStrictEqual(stored.get(id), rest), `plant ${id}, ${Buffer.from(rest.name.slice(0, 20)).toString('hex')}`)
    t.equal(stored.size, plants.length)
    t.strictSame(await Promise.all(plants.map(create)), plants.map(() => 'same'))
    t.strictSame(await Promise.all(plants.map(plant => create({ ...plant, name: `${plant.name}\0` }))), plants.map(() => 'taken'), 'a NUL more in the name')
    t.strictSame(await Promise.all(plants.map(plant => create({ ...plant, tag: `${plant.tag ?? ''}\0` }))), plants.map(() => 'taken'), 'a NUL more in the tag')
  })

  t.test('another plant under an id that is there is taken, and changes nothing; the store writes to no plant that it is given', async t => {
    const { place, create } = await openStore(t)
    const given = Object.freeze({ id: 1n, name: 'Monstera', tag: 'aroid' })
    t.equal(await create(given), 'stored')
    t.equal(await create(given), 'same')
    t.strictSame(given, { id: 1n, name: 'Monstera', tag: 'aroid' })
    await create({ id: 2n, name: 'Ficus' })
    for (const other of [
      { id: 1n, name: 'Monstera' }, { id: 1n, name: 'Monstera', tag: '' }, { id: 1n, name: 'Monstera', tag: 'Aroid' },
      { id: 1n, name: 'monstera', tag: 'aroid' }, { id: 1n, name: 'Monstera ', tag: 'aroid' }, { id: 2n, name: 'Ficus', tag: '' }
    ]) t.equal(await create(other), 'taken', JSON.stringify({ ...other, id: Number(other.id) }))
    t.strictSame(await place.stored(), new Map<bigint, object>([[1n, { name: 'Monstera', tag: 'aroid' }], [2n, { name: 'Ficus' }]]))
  })

  t.test('of plants created at once under one id exactly one is stored; others are taken, and the same are the same', async t => {
    const { place, create } = await openStore(t)
    const second = place.store()
    await second.open?.()
    const names = Array.from({ length: 40 }, (_, place) => `plant ${place}`)
    const outcomes = await Promise.all(names.map((name, place) =>
      place % 2 === 0 ? create({ id: 7n, name }) : second.create({ id: 7n, name }, performance.now() + 10_000)))
    t.equal(outcomes.filter(outcome => outcome === 'stored').length, 1)
    t.equal(outcomes.filter(outcome => outcome === 'taken').length, 39)
    const again = await Promise.all(Array.from({ length: 40 }, () => create({ id: 8n, name: 'Ficus', tag: 'tree' })))
    t.equal(again.filter(outcome => outcome === 'stored').length, 1)
    t.equal(again.filter(outcome => outcome === 'same').length, 39)
    t.strictSame(await place.stored(), new Map<bigint, object>([[7n, { name: names[outcomes.indexOf('stored')] }], [8n, { name: 'Ficus', tag: 'tree' }]]))
  })

  t.test('thousands of creates at once are all stored, but none that is past its deadline', async t => {
    const { place, store, create } = await openStore(t)
    await t.rejects(store.create({ id: -1n, name: 'Ficus' }, performance.now() - 1), PlantNotStored)
    const plants = Array.from({ length: 3_000 }, (_, id): NewPlant => ({ id: BigInt(id), name: `plant ${id}` }))
    t.ok((await Promise.all(plants.map(create))).every(outcome => outcome === 'stored'))
    t.equal((await place.stored()).size, 3_000)
  })

  t.test('open tells who opened it; a store that can take plants is ready; once closed, it stays so and surely stores nothing', async t => {
    const place = await newPlace(t)
    const store = place.store() as Required<PlantStore>
    t.equal(await store.open(), true)
    t.equal(await store.open(), false)
    await t.resolves(store.ready())
    t.equal(await store.create({ id: 1n, name: 'Ficus' }, performance.now() + 10_000), 'stored')
    await store.close()
    await store.close()
    await t.rejects(store.create({ id: 2n, name: 'Ficus' }, performance.now() + 1_000), PlantNotStored)
    await t.rejects(store.ready(), { message: 'the store is closed' })
    await t.rejects(store.open(), StoreUnusable)
    t.strictSame(await place.stored(), new Map([[1n, { name: 'Ficus' }]]))
  })

  t.test('close lets what was sent come to its end, also where it is called twice at once', async t => {
    const { place, store, create } = await openStore(t)
    const creates = Promise.all([1n, 2n, 3n].map(id => create({ id, name: 'Ficus' })))
    await Promise.all([store.close(), store.close()])
    t.strictSame(await creates, ['stored', 'stored', 'stored'])
    t.equal((await place.stored()).size, 3)
  })

  t.test('close is fine on a store that was never opened', async t => {
    const store = (await newPlace(t)).store() as Required<PlantStore>
    await store.close()
    await store.close()
  })
}
