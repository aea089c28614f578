import { spawn, spawnSync } from 'node:child_process'
import { createWriteStream, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { writeLines } from '../../src/service/commands/export.js'
import { createPlants } from '../../src/service/commands/import-and-migrate.js'
import { createFile } from '../../src/service/commands/new-file.js'
import { Tally } from '../../src/service/commands/run-copy.js'
import { CopyError, type Entry } from '../../src/service/commands/sources/plant-source.js'
import type { NewPlant } from '../../src/plant.js'
import { PlantNotStored, PlantOutcomeUnknown, type CreateOutcome, type PlantStore } from '../../src/stores/store.js'
import { needsProgram } from '../support/process/needs.js'
import { Program, program, testFolder, token } from '../support/process/program.js'
import { delayReply } from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { execute, plantsInFile } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { bytesOfPlants, fill, hardPlants, manyPlants, pagesOf } from './plants.js'
import { runHere } from './run-here.js'

t.test('plants that were migrated to MongoDB, exported and imported again are the same to the byte', async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  const [first, second, file] = [join(folder, 'first'), join(folder, 'second'), join(folder, 'plants.ndjson')]
  const plants = [...hardPlants, ...manyPlants(1_500, 1_000)]
  fill(first, plants)
  const migration = { DATA_DIR: first, MONGODB_URL: mongo.url, NODE_ENV: 'production' }
  const migrated = await runHere(['migrate'], migration)
  t.equal(migrated.code, 0, migrated.stderr)
  t.equal(migrated.stdout, `copied ${plants.length}, already there 0, in conflict 0, invalid 0\n`)
  t.match(migrated.stderr, /^migrate: 100 %, 1,512 plants$/m)
  const again = await runHere(['migrate', '--quiet'], migration)
  t.match(again, {
    code: 0, stdout: `copied 0, already there ${plants.length}, in conflict 0, invalid 0\n`, stderr: /^$/
  })

  const exported = await runHere(['export', file], { MONGODB_URL: mongo.url })
  t.match(exported, { code: 0, stdout: /^$/, stderr: /^export: 100 %, 1,512 plants$/m })
  const lines = readFileSync(file, 'utf8').split('\n')
  t.equal(lines.at(-1), '', 'the last line ends with a newline')
  t.equal(lines[0], '{"id":-9223372036854775808,"name":"lowest"}')
  t.equal(lines.at(-2), '{"id":9223372036854775807,"name":"highest","tag":"tag"}')

  const imported = await runHere(['import', file], { DATA_DIR: second })
  t.equal(imported.code, 0, imported.stderr)
  t.equal(imported.stdout, `copied ${plants.length}, already there 0, in conflict 0, invalid 0\n`)
  t.match(imported.stderr, /^import: 100 %, 1,512 plants$/m)
  t.ok(isDeepStrictEqual(bytesOfPlants(join(second, 'plants.db')), bytesOfPlants(join(first, 'plants.db'))))
})

t.test('plants that cannot be migrated or exported are named by their ids, without advice to run it again', async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  const large = { id: 5n, name: 'n'.repeat(18 * 2 ** 20) }
  fill(folder, [{ id: 1n, name: 'one' }, { id: 2n, name: 'two' }, { id: 3n, name: 'three', tag: 'x' }, large])
  execute(join(folder, 'plants.db'), "INSERT INTO plants VALUES (4, CAST(x'ff' AS TEXT), NULL)")
  const client = await MongoClient.connect(mongo.url)
  const collection = client.db('plant_store').collection<{ _id: bigint, name: string }>('plants')
  await collection.insertOne({ _id: 2n, name: 'another' })
  await client.close()
  const { code, stdout, stderr } = await runHere(['migrate'], { DATA_DIR: folder, MONGODB_URL: mongo.url })
  t.equal(code, 1)
  t.equal(stdout, 'copied 2, already there 0, in conflict 1, invalid 2\n')
  t.match(stderr, /^id 2: another plant has the id 2$/m)
  t.match(stderr, /^id 4: name must be a string of well-formed Unicode$/m)
  t.match(stderr, /^id 5: it was not stored: .*$/m)
  t.notMatch(stderr, 'again')
  t.strictSame(mongo.majority().get(2n), { name: 'another' })

  execute(join(folder, 'plants.db'), 'DELETE FROM plants WHERE id IN (2, 5)')
  t.match(await runHere(['export', '--quiet'], { DATA_DIR: folder }), {
    code: 1,
    stdout: '{"id":1,"name":"one"}\n{"id":3,"name":"three","tag":"x"}\n',
    stderr: 'id 4: name must be a string of well-formed Unicode\n'
  })
})

t.test('an interrupted migration reports its progress; a second run completes it, with later plants', async t => {
  const mongo = await ScriptedMongo.start(t)
  mongo.on('insert', delayReply(100), { times: 1_000 })
  const folder = testFolder(t)
  // 100 of them in a page.
  fill(folder, manyPlants(1_500).map(plant => ({ ...plant, name: 'n'.repeat(9_000) })))
  const env = { DATA_DIR: folder, MONGODB_URL: mongo.url }
  const interruption = new AbortController()
  const migration = runHere(['migrate'], env, interruption)
  await until(() => mongo.majority().size >= 100)
  // Ids below and above those being copied.
  fill(folder, [...manyPlants(50, -1_000), ...manyPlants(50, 100_000)])
  interruption.abort()
  const { code, stdout, stderr } = await migration
  const copied = Number(/^copied (\d+), already there 0, in conflict 0, invalid 0$/m.exec(stdout)?.[1])
  t.equal(code, 1, stdout)
  t.match(stderr, /^plant-store: interrupted$/m)
  t.equal(copied, mongo.majority().size)
  t.ok(copied < 1_500)
  mongo.clearCues()
  const again = await runHere(['migrate'], env)
  t.match(again, { code: 0, stdout: `copied ${1_600 - copied}, already there ${copied}, in conflict 0, invalid 0\n` })
})

t.test('lines that are not valid plants, or whose id is taken, are named by number and change nothing', async t => {
  const folder = testFolder(t)
  fill(folder, [{ id: 1n, name: 'one' }, { id: 2n, name: 'two', tag: '' }])
  const lines: [line: string | Buffer, reason?: RegExp][] = [
    ['\ufeff{"id":1,"name":"one"}'],
    ['{"id":2,"name":"two"}', /^line 2: another plant has the id 2$/m],
    [' \t '],
    ['{"id":3,"name":"three","tag":"t"', /^line 4: it is not acceptable JSON: /m],
    ['{"id":9223372036854775808,"name":"beyond"}', /^line 5: id must be an integer /m],
    ['{"id":4,"name":"\\ud800"}', /^line 6: name must be a string of well-formed Unicode$/m],
    ['{"id":4,"name":"four","tag":7}', /^line 7: tag must be /m],
    ['[4]', /^line 8: it is not /m],
    ['{"id":4,"name":"four","__proto__":{}}', /^line 9: it is not acceptable JSON/m],
    [Buffer.from('7b226964223a342c226e616d65223a22ff227d', 'hex'), /^line 10: it is not well-formed UTF-8/m],
    ['{"id":5,"name":"five","color":"green"}\r'],
    ['{"id":5,"name":"five"}'],
    ['{"id":6e0,"name":"sechs 🌵"}']
  ]
  const text = Buffer.concat(lines.flatMap(([line], index) => [Buffer.from(index > 0 ? '\n' : ''), Buffer.from(line)]))
  const file = join(folder, 'lines.ndjson')
  writeFileSync(file, text)
  const { code, stdout, stderr } = await runHere(['import', file], { DATA_DIR: folder })
  t.equal(code, 1)
  t.equal(stdout, 'copied 2, already there 2, in conflict 1, invalid 7\n')
  for (const [, reason] of lines) if (reason !== undefined) t.match(stderr, reason)
  t.equal(stderr.match(/^line /gm)?.length, 8)
  t.match(stderr, /^import: 100 %, 5 plants, 7 invalid$/m, 'a line that is no plant is not called one')
  t.strictSame([...plantsInFile(join(folder, 'plants.db'))], [
    [1n, { name: 'one' }], [2n, { name: 'two', tag: '' }], [5n, { name: 'five' }], [6n, { name: 'sechs 🌵' }]
  ])

  writeFileSync(file, Buffer.concat([text, Buffer.from('\n\x1b[31m'.repeat(150))]))
  const again = await runHere(['import', '--quiet', file], { DATA_DIR: folder })
  t.match(again, { code: 1, stdout: 'copied 0, already there 4, in conflict 1, invalid 157\n' })
  t.equal(again.stderr.match(/^line \d+: /gm)?.length, 100, 'a hundred lines are named')
  t.match(again.stderr, /^and 58 more$/m)
  t.equal(again.stderr.split('\n').length, 102, 'with --quiet, nothing else is on standard error')
  t.notMatch(again.stderr, '\x1b', 'no control characters are printed')
})

t.test('failures are reported in one line, without credentials, and no store is created', async t => {
  const folder = testFolder(t)
  fill(folder, [{ id: 1n, name: 'one' }])
  const away = { DATA_DIR: folder, MONGODB_URL: `mongodb://user:${token}@127.0.0.1:1/?serverSelectionTimeoutMS=300` }
  const unreachable = /^plant-store: MongoDB: connect ECONNREFUSED.*\n$/m
  const cases = [
    {
      command: ['migrate'],
      env: { DATA_DIR: folder },
      line: /^plant-store: MONGODB_URL is not set: .*MONGODB_URL_FILE.*\n$/
    },
    {
      command: ['migrate'],
      env: { ...away, DATA_DIR: join(folder, 'nowhere') },
      line: /^plant-store: there is no .*plants\.db: .*\n$/
    },
    { command: ['migrate'], env: away, line: unreachable },
    { command: ['export'], env: away, line: unreachable },
    {
      command: ['import', join(folder, 'missing')],
      env: { DATA_DIR: join(folder, 'data') },
      line: /^plant-store: ENOENT: .+missing'\n$/
    }
  ]
  await Promise.all(cases.map(async ({ command, env, line }) => {
    const { code, stdout, stderr } = await runHere(command, env)
    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(stderr, line)
    t.notMatch(stderr, token)
  }))
  t.notOk(existsSync(join(folder, 'data')))
})

t.test('an export exits without a message if the reader closes the pipe', async t => {
  const folder = testFolder(t)
  fill(folder, manyPlants(5_000))
  const { child, ended } = new Program(['export', '--quiet'], { DATA_DIR: folder })
  child.stdout?.once('data', () => child.stdout?.destroy())
  t.match(await ended, { code: 1, stderr: /^$/ })
})

t.test('an interrupted export stops at the next page, and leaves no file', async t => {
  const folder = t.testdir()
  const interruption = new AbortController()
  const tally = new Tally(() => {})
  async function * pages () {
    yield * pagesOf(manyPlants(3))
    interruption.abort()
    yield * pagesOf(manyPlants(3))
  }
  const creating = createFile(join(folder, 'plants.ndjson'), path => {
    return writeLines(pages(), createWriteStream(path, { flags: 'r+' }), tally, interruption.signal)
  })
  await t.rejects(creating)
  t.equal(tally.copied, 3)
  t.strictSame(readdirSync(folder), [])
})

t.test('a tag of null, as other programs write it, is no tag', async t => {
  const folder = testFolder(t)
  fill(folder, [{ id: 1n, name: 'one' }, { id: 2n, name: 'two', tag: 'tag' }])
  const file = join(folder, 'plants.ndjson')
  writeFileSync(file, `{"id":1,"name":"one","tag":null}
{"tag":null,"id":2,"name":"two"}
{"id":3,"name":"three","tag":null}`)
  const { code, stdout, stderr } = await runHere(['import', file], { DATA_DIR: folder })
  t.match({ code, stdout }, { code: 1, stdout: 'copied 1, already there 1, in conflict 1, invalid 0\n' })
  t.match(stderr, /^line 2: another plant has the id 2$/m)
  t.match(await runHere(['export'], { DATA_DIR: folder }), {
    code: 0, stdout: '{"id":1,"name":"one"}\n{"id":2,"name":"two","tag":"tag"}\n{"id":3,"name":"three"}\n'
  })
})

t.test('an import from a folder names it', async t => {
  const folder = testFolder(t)
  const data = join(folder, 'data')
  t.match(await runHere(['import', folder], { DATA_DIR: data }), {
    code: 1, stderr: `plant-store: ${folder} is a folder: choose a file\n`
  })
  const words = ['-c', `exec ${process.execPath} ${program} import <.`]
  t.match(spawnSync('sh', words, { env: { ...process.env, DATA_DIR: data }, encoding: 'utf8' }), {
    status: 1, stderr: /^plant-store: standard input is a folder: choose a file$/m
  })
  t.notOk(existsSync(data))
})

const withTerminal = needsProgram('script', 'bsdutils')

t.test('an import on a terminal says that it reads the keyboard, and how to end', withTerminal, async t => {
  const folder = testFolder(t)
  const command = `exec ${process.execPath} ${program} import`
  const variables = { PATH: process.env.PATH, SHELL: '/bin/sh', DATA_DIR: folder }
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { env: variables })
  t.teardown(() => terminal.kill('SIGKILL'))
  let shown = ''
  terminal.stdout.on('data', text => { shown += text })
  await until(() => /reading from the keyboard: .*Ctrl-D/.test(shown))
  terminal.stdin.write('{"id":1,"name":"Fern"}\n\x04')
  await until(() => /copied 1, already there 0/.test(shown))
  t.strictSame([...plantsInFile(join(folder, 'plants.db'))], [[1n, { name: 'Fern' }]])
})

t.test('a command ends though a preloaded module has a timer in each thread', async t => {
  const folder = testFolder(t)
  const agent = join(folder, 'agent.cjs')
  writeFileSync(agent, 'setInterval(() => {}, 1_000)')
  const file = join(folder, 'plants.ndjson')
  writeFileSync(file, '{"id":1,"name":"one"}\n')
  const env = { DATA_DIR: folder, NODE_OPTIONS: `--require=${agent}` }
  fill(folder, [])
  const commands = [['import', file], ['export'], ['backup', join(folder, 'backup.db')], ['--version']]
  await Promise.all(commands.map(async args => {
    const command = new Program(args, env)
    const timer = setTimeout(() => command.child.kill('SIGKILL'), 15_000)
    t.match(await command.ended, { code: 0, signal: null }, `${args}`)
    clearTimeout(timer)
  }))
  t.ok(existsSync(join(folder, 'backup.db')))
})

function setUp (store: PlantStore) {
  const lines: string[] = []
  const tally = new Tally(line => lines.push(line))
  const interruption = new AbortController()
  const copyPages = (pages: AsyncIterable<Entry[]>) => createPlants(store, pages, tally, interruption.signal)
  return { lines, tally, interruption, copyPages, copy: (plants: NewPlant[]) => copyPages(pagesOf(plants, 100)) }
}

/** A store that accepts every plant except those with the given ids. */
function storeThatFails (
  failing: (id: bigint) => boolean, reason: Error = new PlantNotStored('it is too large')
): PlantStore {
  return { create: async ({ id }) => failing(id) ? Promise.reject(reason) : 'stored' }
}

t.test('a plant that a ready store does not accept is named by its id, and the others are copied', async t => {
  const { copy, tally, lines } = setUp({ ...storeThatFails(id => id % 40n < 3n), ready: async () => {} })
  await copy(manyPlants(2_000))
  t.match(tally, { copied: 1_850, alreadyThere: 0, inConflict: 0, invalid: 150 })
  t.equal(lines[0], 'id 0: it was not stored: it is too large')
  t.equal(lines.length, 100)
})

t.test('a store that is not ready after a failure is at fault, not the plants', async t => {
  const ready = async () => { throw new Error('the disk is full') }
  const { copy, tally, lines } = setUp({ ...storeThatFails(id => id >= 50n), ready })
  await t.rejects(copy(manyPlants(2_000)), new CopyError('the disk is full'))
  t.match(tally, { copied: 50, invalid: 0 })
  t.strictSame(lines, [])
})

t.test('an unknown outcome is reported as such, and a fault of the program as itself', async t => {
  const { copy, lines } = setUp(storeThatFails(() => true, new PlantOutcomeUnknown('no response in time')))
  await copy(manyPlants(1))
  t.strictSame(lines, ['id 0: it may have been stored: no response in time'])
  await t.rejects(setUp(storeThatFails(() => true, new RangeError('oops'))).copy(manyPlants(1)), new RangeError('oops'))
})

t.test('errors of a store that another copy of the package made are understood', async t => {
  const own = Object.assign(new Error('it is too large'), { name: 'PlantNotStored' })
  const { copy, lines } = setUp(storeThatFails(id => id === 1n, own))
  await copy(manyPlants(2))
  t.strictSame(lines, ['id 1: it was not stored: it is too large'])
})

t.test('if the source fails, the plants read before are still counted', async t => {
  const { tally, copyPages } = setUp({ create: () => new Promise(resolve => setImmediate(resolve, 'stored')) })
  async function * failing (pages: AsyncGenerator<Entry[]>) {
    yield * pages
    throw new CopyError('it cannot be read')
  }
  await t.rejects(copyPages(failing(pagesOf(manyPlants(3)))), new CopyError('it cannot be read'))
  t.equal(tally.copied, 3)
})

t.test('pending plants are bounded; an interruption closes the store, which settles them, none as invalid', async t => {
  const pending: ((outcome: CreateOutcome | PromiseLike<never>) => void)[] = []
  const { copy, tally, lines, interruption } = setUp({
    create: () => new Promise(resolve => { pending.push(resolve) }),
    async close () {
      pending[0]?.(Promise.reject(new PlantNotStored('it was closed')))
      await new Promise(resolve => setImmediate(resolve))
      for (const [index, resolve] of pending.entries()) {
        resolve(index <= 10 ? 'stored' : Promise.reject(new PlantOutcomeUnknown('it was closed')))
      }
    }
  })
  const copying = copy(manyPlants(2_000))
  await until(() => pending.length >= 500)
  for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
  t.ok(pending.length <= 600)
  interruption.abort()
  await t.rejects(copying)
  t.match(tally, { copied: 10, invalid: 0 })
  t.strictSame(lines, [])
})
