import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Program, run, testFolder } from '../support/process/program.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { fill } from './plants.js'

t.test('lines that are not valid plants, or whose id is taken, are named by their numbers and change nothing', async t => {
  const folder = testFolder(t)
  fill(folder, [{ id: 1n, name: 'one' }, { id: 2n, name: 'two', tag: '' }])
  const lines: [line: string | Buffer, reason?: RegExp][] = [
    ['\ufeff{"id":1,"name":"one"}'],
    ['{"id":2,"name":"two"}', /^line 2: another plant has the id 2$/m],
    [' \t '],
    ['{"id":3,"name":"three","tag":"t"', /^line 4: it is not acceptable JSON: /m],
    ['{"id":9223372036854775808,"name":"beyond"}', /^line 5: id must be an integer /m],
    ['{"id":4,"name":"\\ud800"}', /^line 6: name must be a string of well-formed Unicode$/m],
    ['{"id":4,"name":"four","tag":null}', /^line 7: tag must be /m],
    ['{"id":4.5,"name":"four"}', /^line 8: id must be /m],
    ['[4]', /^line 9: it is not /m],
    ['{"id":4,"name":"four","__proto__":{}}', /^line 10: it is not acceptable JSON/m],
    [Buffer.from('7b226964223a342c226e616d65223a22ff227d', 'hex'), /^line 11: it is not well-formed UTF-8/m],
    ['{"id":5,"name":"five","color":"green"}\r'],
    ['{"id":5,"name":"five"}'],
    ['{"id":6e0,"name":"six"}']
  ]
  const text = Buffer.concat(lines.flatMap(([line], index) => [Buffer.from(index > 0 ? '\n' : ''), Buffer.from(line)]))
  const file = join(folder, 'lines.ndjson')
  writeFileSync(file, text)
  const { code, stdout, stderr } = await run(['import', file], { DATA_DIR: folder }, { counted: true })
  t.equal(code, 1)
  t.equal(stdout, 'copied 2, already there 2, in conflict 1, invalid 8\n')
  for (const [, reason] of lines) if (reason !== undefined) t.match(stderr, reason)
  t.equal(stderr.match(/^line /gm)?.length, 9)
  t.strictSame([...plantsInFile(join(folder, 'plants.db'))], [
    [1n, { name: 'one' }], [2n, { name: 'two', tag: '' }], [5n, { name: 'five' }], [6n, { name: 'six' }]
  ])

  const { child, ended } = new Program(['import', '--quiet'], { DATA_DIR: folder }, { input: true })
  child.stdin?.end(Buffer.concat([text, Buffer.from('\n\x1b[31m'.repeat(150))]))
  const again = await ended
  t.equal(again.code, 1)
  t.equal(again.stdout, 'copied 0, already there 4, in conflict 1, invalid 158\n')
  t.equal(again.stderr.match(/^line \d+: /gm)?.length, 100, 'a hundred lines are named')
  t.match(again.stderr, /^and 59 more$/m)
  t.equal(again.stderr.split('\n').length, 102, 'with --quiet, nothing else is on standard error')
  t.notMatch(again.stderr, '\x1b', 'no control characters are printed')
})

t.test('an import that is interrupted while it waits for lines reports its progress', async t => {
  const folder = testFolder(t)
  const database = join(folder, 'plants.db')
  fill(folder, [])
  const { child, ended } = new Program(['import'], { DATA_DIR: folder }, { input: true })
  child.stdin?.write('{"id":1,"name":"one"}\n{"id":2,"na')
  await until(() => plantsInFile(database).size === 1)
  child.kill('SIGINT')
  const { code, stdout, stderr } = await ended
  t.equal(code, 1, stderr)
  t.equal(stdout, 'copied 1, already there 0, in conflict 0, invalid 0\n')
  t.match(stderr, /^not finished: interrupted: run it again to continue$/m)
  t.equal(plantsInFile(database).size, 1)
})

t.test('a file that cannot be read is reported in one line, and no store is created', async t => {
  const folder = testFolder(t)
  const { code, stdout, stderr } = await run(['import', join(folder, 'missing.ndjson')], { DATA_DIR: join(folder, 'data') })
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, /^plant-store: .+ cannot be read: .+\n$/)
  t.notOk(existsSync(join(folder, 'data')))
})
