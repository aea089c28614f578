import t from 'tap'
import { checkOptions, limits, type PlantStoreOptions } from '../../src/options.js'

const store = { create: async () => 'stored' as const }
const tokens = ['a-token-for-the-tests']
const check = (options: object) => checkOptions({ store, tokens, ...options } as PlantStoreOptions)

t.test('an omitted option has its default', async t => {
  const { bodyLimit, storeTimeout, queueLimit, store: kept } = check({})
  t.strictSame([bodyLimit, storeTimeout, queueLimit], [1_048_576, 10_000, 10_000])
  t.equal(kept, store)
  t.equal(check({ bodyLimit: undefined }).bodyLimit, 1_048_576)
})

t.test('the minimum and the maximum of each limit are accepted', async t => {
  for (const [name, { minimum, maximum }] of Object.entries(limits)) {
    for (const value of [minimum, maximum]) t.equal(check({ [name]: value })[name as keyof typeof limits], value, `${name} ${value}`)
  }
})

t.test('an invalid limit throws with the name of the option and its range', async t => {
  for (const [name, { minimum, maximum }] of Object.entries(limits)) {
    for (const value of [minimum - 1, maximum + 1, 1.5, NaN, Infinity, '10', true, 10n]) {
      t.throws(() => check({ [name]: value }),
        new TypeError(`plant-store: the option ${name} must be an integer from ${minimum} to ${maximum}`), `${name} ${value}`)
    }
  }
})

t.test('a store that cannot create is refused', async t => {
  for (const wrong of [undefined, null, {}, 'plants.db', { create: true }]) {
    t.throws(() => check({ store: wrong }), { name: 'TypeError', message: /^plant-store: the option store must be a PlantStore, for example sqlitePlantStore/ })
  }
})

t.test('tokens may be any iterable, or a function', async t => {
  for (const list of [tokens, new Set(tokens), tokens.values()]) {
    t.strictSame([...check({ tokens: list }).tokens as Iterable<string>], tokens)
  }
  const decide = () => true
  t.equal(check({ tokens: decide }).tokens, decide)
})

t.test('invalid tokens are refused, and no message contains one', async t => {
  const message = /^plant-store: the option tokens must be a list of access tokens or a function \(token, request\) => boolean: /
  for (const wrong of [undefined, null, 12, {}, [], 'one-secret-string', ['not a secret'], [12]]) {
    t.throws(() => check({ tokens: wrong }), { name: 'TypeError', message }, JSON.stringify(wrong))
    t.throws(() => check({ tokens: wrong }), { message: /^((?!secret).)*$/ }, JSON.stringify(wrong))
  }
})
