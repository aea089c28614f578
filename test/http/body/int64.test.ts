import fc from 'fast-check'
import t from 'tap'
import { exactInteger, numberLiteral } from '../../../src/http/body/int64.js'
import { anyInt64, anySpelling, spell } from '../../support/stores/spelling.js'

t.test('a number of more than 19 digits, and text that is not a number, is refused', async t => {
  t.equal(exactInteger('9999999999999999999'), 9999999999999999999n)
  for (const literal of ['10000000000000000000', '1e19', '', 'x', '1.', '.5', '+1', '1e']) t.equal(exactInteger(literal), undefined, JSON.stringify(literal))
})

t.test('any int64 in any spelling is read exactly', async () => {
  fc.assert(
    fc.property(anyInt64, anySpelling, (integer, spelling) => exactInteger(spell(integer, 0, spelling)) === integer),
    { numRuns: 2000 }
  )
})

t.test('a decimal that is not an integer is refused in any spelling', async () => {
  fc.assert(fc.property(anyInt64, fc.integer({ min: 1, max: 30 }), anySpelling, (units, decimals, spelling) => {
    fc.pre(units % 10n !== 0n)
    return exactInteger(spell(units, decimals, spelling)) === undefined
  }), { numRuns: 2000 })
})

t.test('the number literal of a member is found unchanged', async t => {
  const literals: [json: string, literal: string | undefined][] = [
    ['{"id":12}', '12'],
    [' { "id" : -1.50E+2 , "name" : "x" } ', '-1.50E+2'],
    ['{"name":"x","id":7}', '7'],
    ['{"id":1,"id":2}', '2'],
    ['{"id":1,"id":"2"}', undefined],
    ['{"id":"1","id":2}', '2'],
    ['{"\\u0069\\u0064":3}', '3'],
    ['{"a":{"id":4},"id":5}', '5'],
    ['{"id":6,"a":[{"id":7},{"b":{"id":8}}]}', '6'],
    ['{"a":{"id":9}}', undefined],
    ['{"name":"\\"id\\":10","id":11}', '11'],
    ['{"name":"id","id":12}', '12'],
    ['{"name":"\\\\","id":13}', '13'],
    ['{"name":"{[\\"","id":14}', '14'],
    ['{"id":null}', undefined],
    ['{"id":[1]}', undefined],
    ['{"ID":1}', undefined],
    ['{}', undefined]
  ]
  for (const [json, literal] of literals) t.equal(numberLiteral(json, 'id'), literal, json)
})

t.test('the literal is found among any other members of an object', async () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), anyInt64, fc.boolean(), (others, id, first) => {
    const { id: _, ...rest } = others
    const member = `"id":${id}`
    const inner = JSON.stringify(rest).slice(1, -1)
    const members = inner === '' ? [member] : first ? [member, inner] : [inner, member]
    return numberLiteral(`{${members.join(',')}}`, 'id') === String(id)
  }))
})
