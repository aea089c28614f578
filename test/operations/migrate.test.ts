import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { SqlitePlantsTable } from '../../src/stores/sqlite-plants-table.js'
import { program } from '../project.js'
import { ScriptedMongo } from '../scripted-mongodb/scripted-mongo.js'
import { Program, run, testFolder, token } from '../program.js'

/** Plants with what is hard to keep: the ends of int64, a NUL, a replacement character, no tag, an empty name. */
const hard: [bigint, string, string | null][] = [
  [-(2n ** 63n), 'lowest', null], [2n ** 63n - 1n, 'highest', 'tag'], [9007199254740993n, 'beyond a double', null],
  [5n, 'a\0b', 'c\0d'], [6n, 'replaced \ufffd', null], [7n, '', ''], [8n, '🌵\ufeff', null]
]

async function fill (folder: string, plants: readonly [bigint, string, string | null][]): Promise<void> {
  const table = await SqlitePlantsTable.open(join(folder, 'plants.db'))
  table.write({ ids: BigInt64Array.from(plants, ([id]) => id), names: plants.map(([, name]) => name), tags: plants.map(([,, tag]) => tag) })
  table.close()
}

t.test('migrate moves 300 plants exactly; run again, it finds them there', async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  const plants = [...hard, ...Array.from({ length: 293 }, (_, i) => [BigInt(1000 + i), `plant ${i}`, i % 2 ? 'odd' : null] as [bigint, string, string | null])]
  await fill(folder, plants)
  const env = { DATA_DIR: folder, MONGODB_URL: mongo.url, NODE_ENV: 'production' }
  const first = await run(['migrate'], env, { counted: true })
  t.equal(first.code, 0, first.stderr)
  t.equal(first.stdout, 'moved 300, already there 0, in conflict 0\nall 300 ids are there\n')
  t.match(first.stderr, /copy: 300 of 300 plants \(100 %\)/)
  const stored = mongo.majority()
  for (const [id, name, tag] of plants) t.strictSame(stored.get(id), tag === null ? { name } : { name, tag })

  const again = await run(['migrate'], env, { counted: true })
  t.equal(again.code, 0)
  t.equal(again.stdout, 'moved 0, already there 300, in conflict 0\nall 300 ids are there\n')
})

t.test('a plant that is there with other content is told by its id, and left', async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  await fill(folder, [[1n, 'one', null], [2n, 'two', null], [3n, 'three', 'x']])
  const client = await MongoClient.connect(mongo.url)
  await client.db('plant_store').collection<{ _id: bigint, name: string }>('plants').insertOne({ _id: 2n, name: 'another' })
  await client.close()
  const { code, stdout, stderr } = await run(['migrate'], { DATA_DIR: folder, MONGODB_URL: mongo.url }, { counted: true })
  t.equal(code, 1)
  t.match(stdout, 'moved 2, already there 0, in conflict 1\nall 3 ids are there\n')
  t.match(stderr, 'left: id 2: another plant has this id there')
  t.strictSame(mongo.majority().get(2n), { name: 'another' })
})

t.test('interrupted, it tells how far it came; run again, it goes on to the end', async t => {
  const mongo = await ScriptedMongo.start(t)
  mongo.delayAnswers(20)
  const folder = testFolder(t)
  await fill(folder, Array.from({ length: 60_000 }, (_, i) => [BigInt(i), `plant ${i}`, null]))
  const env = { DATA_DIR: folder, MONGODB_URL: mongo.url }
  const program = new Program(['migrate'], env, { counted: true })
  while (mongo.majority().size < 2_000 && program.child.exitCode === null) await new Promise(resolve => setTimeout(resolve, 5))
  program.child.kill('SIGINT')
  const { code, stdout } = await program.ended
  const moved = Number(/^moved (\d+)/.exec(stdout)?.[1])
  t.equal(code, 1, stdout)
  t.match(stdout, 'not finished: interrupted: run it again to go on')
  t.equal(moved, mongo.majority().size)
  t.ok(moved < 60_000)
  mongo.delayAnswers(0)
  const again = await run(['migrate'], env, { counted: true })
  t.equal(again.stdout, `moved ${60_000 - moved}, already there ${moved}, in conflict 0\nall 60000 ids are there\n`)
  t.equal(again.code, 0)
})

t.test('what cannot be done is told in one line', async t => {
  const folder = testFolder(t)
  const cases: [RegExp, NodeJS.ProcessEnv][] = [
    [/^plant-store: MONGODB_URL is not set: .*MONGODB_URL_FILE.*\n$/, { DATA_DIR: folder }],
    [/^plant-store: there is no .*plants\.db: set DATA_DIR .*\n$/, { DATA_DIR: folder, MONGODB_URL: 'mongodb://127.0.0.1:1/' }]
  ]
  for (const [line, env] of cases) {
    const { code, stderr } = await run(['migrate'], env, { counted: true })
    t.equal(code, 1)
    t.match(stderr, line)
  }
  await fill(folder, [[1n, 'one', null]])
  const away = await run(['migrate'], { DATA_DIR: folder, MONGODB_URL: `mongodb://user:${token}@127.0.0.1:1/?serverSelectionTimeoutMS=300` }, { counted: true })
  t.equal(away.code, 1)
  t.match(away.stderr, /^plant-store: MongoDB is not reachable: .*ECONNREFUSED.*\n$/)
  t.notMatch(away.stderr, token)
})

t.test('on a terminal there is a bar', { skip: process.platform !== 'linux' && 'script(1) of util-linux makes the terminal' }, async t => {
  const mongo = await ScriptedMongo.start(t)
  const folder = testFolder(t)
  await fill(folder, hard)
  const child = spawn('script', ['-qec', `${process.execPath} ${program} migrate`, '/dev/null'], {
    env: { PATH: process.env.PATH, DATA_DIR: folder, MONGODB_URL: mongo.url }, cwd: fileURLToPath(new URL('.', import.meta.url))
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', chunk => { text += chunk })
  await once(child, 'close')
  t.match(text, /copy \[#{30}\] 7 of 7 plants \(100 %\)/)
})
