import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../bench/main.js'

const short = ['--rounds', '1', '--warm-up', '0.1', '--seconds', '0.2']

/** Runs the benchmark in this process, and saves its results below the test's folder. */
async function bench (t: Test, words: string[]) {
  const folder = join(t.testdirName, 'results')
  const out = t.capture(console, 'log')
  const err = t.capture(console, 'error')
  t.capture(process.stderr, 'write', () => true)
  const code = await main([...words, ...short, '--save', folder])
  const textOf = (captured: typeof out): string => captured().map(({ args }) => String(args[0])).join('\n')
  return { code, out: textOf(out), err: textOf(err), folder }
}

t.test('filled stores, single creates and starts are measured, and no folder of the machine is saved', async t => {
  t.testdir()
  const servers = `ours-sqlite@${process.execPath},group-sqlite,json-server`
  const words = ['--case', 'stored,one-create,start', '--stored', '500', '--servers', servers]
  const { code, out, err, folder } = await bench(t, words)
  t.equal(code, 0, err)
  t.match(out, /stored: [^]*one-create: [^]*first ÷ it[^]*start: /)
  const saved = readFileSync(join(folder, 'results.json'), 'utf8')
  t.notMatch(saved, process.execPath)
  t.match(JSON.parse(saved).command, 'ours-sqlite@node,group-sqlite,json-server')
  for (const { spec, label, rounds } of JSON.parse(saved).measurements) {
    for (const round of rounds) t.ok((round.price ?? round.p50) > 0, `${spec.case} ${label}`)
  }
})

t.test('json-server and a program of PocketBase are measured beside plant-store', async t => {
  const program = await pocketBase(t, 'INSERT INTO plants VALUES (?, ?, ?)')
  const words = ['--case', 'create', '--servers', 'pocketbase,json-server', '--pocketbase', program]
  const { code, out, err } = await bench(t, words)
  t.equal(code, 0, err)
  t.match(out, /PocketBase, WAL, synchronous=NORMAL +\d[^]*json-server, whole file, not synced +\d/)
  t.match(out, 'PocketBase 0.0.1')
})

t.test('a server that has not stored what it acknowledged fails the run', async t => {
  const program = await pocketBase(t, "INSERT INTO plants SELECT ?1, ?2, ?3 WHERE ?2 <> 'Calathea orbifolia'")
  const { code, err } = await bench(t, ['--case', 'create', '--servers', 'pocketbase', '--pocketbase', program])
  t.equal(code, 1)
  t.match(err, /PocketBase, WAL, synchronous=NORMAL acknowledged \d+ plants but stored \d+/)
})

/** A program with the commands and the interface of PocketBase that the benchmark uses. */
async function pocketBase (t: Test, insert: string): Promise<string> {
  const folder = t.testdir({
    'pocketbase.mjs': `#!/usr/bin/env node
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { DatabaseSync } from '@photostructure/sqlite'
const [command, ...words] = process.argv.slice(2)
const { dir, http } = Object.fromEntries(words.map(word => word.replace('--', '').split('=')))
if (command === '--version') {
  console.log('pocketbase version 0.0.1')
  process.exit()
}
mkdirSync(dir, { recursive: true })
const database = new DatabaseSync(dir + '/data.db')
database.exec('CREATE TABLE IF NOT EXISTS plants (id TEXT PRIMARY KEY, name TEXT, tag TEXT)')
if (command === 'migrate') {
  console.log('2026/01/02 03:04:05 token=of-a-user')
  process.exit()
}
const server = createServer(async (request, response) => {
  try {
    const { id, name, tag = '' } = JSON.parse(await text(request))
    if (request.headers.authorization !== 'Bearer of-a-user' || !/^[0-9]+$/.test(id) || !name) throw new Error()
    database.prepare(${JSON.stringify(insert)}).run(String(id), name, tag)
    const record = { collectionId: 'plants', collectionName: 'plants', id: String(id), name, tag }
    response.end(JSON.stringify(record) + '\\n')
  } catch {
    response.writeHead(400).end('{}')
  }
})
server.listen(http.split(':')[1], '127.0.0.1', () => console.log('Server started at http://' + http))
`
  })
  const program = join(folder, 'pocketbase.mjs')
  chmodSync(program, 0o755)
  return program
}
