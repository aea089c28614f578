import t from 'tap'
import { lineSplitter } from '../../src/transfer/sources/ndjson-source.js'

/** Splits a text that arrives in chunks of a given size into lines. */
function split (text: string, chunk: number, limit = 100): (string | null)[] {
  const splitter = lineSplitter(limit)
  const bytes = Buffer.from(text)
  const lines = []
  for (let start = 0; start < bytes.length; start += chunk) {
    lines.push(...splitter.push(bytes.subarray(start, start + chunk)))
  }
  lines.push(...splitter.end())
  return lines.map(line => line?.toString() ?? null)
}

t.test('lines do not depend on how the bytes are split into chunks', async t => {
  const text = 'one\n\n🌵 three\r\n\nfive'
  for (let chunk = 1; chunk <= text.length + 5; chunk++) t.strictSame(split(text, chunk), ['one', '', '🌵 three\r', '', 'five'], `chunks of ${chunk}`)
  t.strictSame(split('one\n', 2), ['one'], 'no empty line follows the last newline')
  t.strictSame(split('', 2), [])
})

t.test('a line beyond the limit is skipped, but counted', async t => {
  for (const chunk of [1, 3, 100]) t.strictSame(split(`${'x'.repeat(10)}\n${'y'.repeat(11)}\nz\n${'y'.repeat(50)}`, chunk, 10), ['x'.repeat(10), null, 'z', null], `chunks of ${chunk}`)
})
