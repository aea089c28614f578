import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { answersError, answersPlant, buildService } from '../support/http/service.js'
import { onBothStores, type NewPlace } from '../support/stores/places.js'

await onBothStores(t, (t: Test, newPlace: NewPlace) => {
  t.test('a new plant gets 200 with a Plant, and is stored', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    answersPlant(t, await create({ id: 1, name: 'Monstera deliciosa', tag: 'aroid' }), { name: 'Monstera deliciosa', tag: 'aroid' })
    answersPlant(t, await create({ id: 2, name: 'Ficus' }), { name: 'Ficus' })
    answersPlant(t, await create({ id: 3, name: '', tag: '' }), { name: '', tag: '' }, 'empty strings are strings')
    t.strictSame(await place.stored(), new Map<bigint, object>([
      [1n, { name: 'Monstera deliciosa', tag: 'aroid' }], [2n, { name: 'Ficus' }], [3n, { name: '', tag: '' }]
    ]))

    t.comment('a retry of the same plant gets the same response, in any spelling')
    answersPlant(t, await create({ id: 1, name: 'Monstera deliciosa', tag: 'aroid' }), { name: 'Monstera deliciosa', tag: 'aroid' })
    answersPlant(t, await create('{"name":"Fi\\u0063us","id":2.0}'), { name: 'Ficus' })

    t.comment('another plant with a taken id is refused, and changes nothing')
    for (const other of [{ id: 1, name: 'Monstera deliciosa' }, { id: 1, name: 'Monstera', tag: 'aroid' }, { id: 2, name: 'Ficus', tag: '' }, { id: 3, name: '' }]) {
      answersError(t, await create(other), 40004, /^Another plant has this id/)
    }
    t.equal((await place.stored()).size, 3)
    t.strictSame((await place.stored()).get(1n), { name: 'Monstera deliciosa', tag: 'aroid' })
  })

  t.test('unknown fields are ignored, and are not stored', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    answersPlant(t, await create({ id: 1, name: 'Ficus', height: 2, Tag: 'tree', _id: 7, Name: 'x', $set: { name: 'y' }, constructor: 'z' }), { name: 'Ficus' })
    answersPlant(t, await create('{"id":2,"name":"Ficus","weight":1e400,"height":12345678901234567890.5,"deep":{"id":[9007199254740993]}}'), { name: 'Ficus' })
    answersPlant(t, await create({ id: 1, name: 'Ficus' }), { name: 'Ficus' }, 'without them it is the same plant')
    t.strictSame(await place.stored(), new Map([[1n, { name: 'Ficus' }], [2n, { name: 'Ficus' }]]))
  })

  t.test('any well-formed Unicode text is stored and returned unchanged', async t => {
    const place = await newPlace(t)
    const { create } = await buildService(t, place.store())
    const expected = new Map<bigint, object>()
    let id = 0n
    async function keeps (name: string, tag: string): Promise<boolean> {
      expected.set(++id, { name, tag })
      const response = await create(`{"id":${id},"name":${JSON.stringify(name)},"tag":${JSON.stringify(tag)}}`)
      const plant = response.json()
      if (response.statusCode !== 200) t.comment(response.body)
      return response.statusCode === 200 && plant.name === name && plant.tag === tag
    }
    for (const text of ['\0', 'a\0b', '\u2028\u2029', '\u007f\u0080', '\ufeff', '\ufffe\uffff', '🪴', '\u{10ffff}', '"\\/\b\f\n\r\t', 'ש֔ל', 'e\u0301']) {
      t.ok(await keeps(text, text), `text of the bytes ${Buffer.from(text).toString('hex')}`)
    }
    await fc.assert(fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ unit: 'grapheme', maxLength: 30 }), keeps), { numRuns: 150 })
    const stored = await place.stored()
    t.equal(stored.size, expected.size)
    for (const [id, plant] of expected) {
      if (!isDeepStrictEqual(stored.get(id), plant)) t.fail(`stored as ${escaped(stored.get(id))} instead of ${escaped(plant)}`)
    }
  })
})

/** ASCII only, for messages that are safe in any terminal and TAP parser. */
function escaped (value: unknown): string {
  return JSON.stringify(value).replace(/[^ -~]/gu, character => `\\u{${(character.codePointAt(0) as number).toString(16)}}`)
}
