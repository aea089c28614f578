import { execFile } from 'node:child_process'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { closedPort } from '../support/process/lasting-port.js'
import { needs } from '../support/process/needs.js'
import type { Cue } from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { missingServer, mongodb, startServer } from '../support/stores/mongodb-for-tests.js'
import { behaviours } from './check.js'
import { documentedRows } from './report.js'

interface Result { code: number, stdout: string, stderr: string }

/** Runs the command that `npm run test:server` runs after it has compiled. */
async function check (...args: string[]): Promise<Result> {
  return new Promise(resolve => {
    execFile(process.execPath, ['build/test/server/server-check.js', ...args], (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr })
    })
  })
}

t.jobs = 4

// The longest test is the first.
t.test('with a server', async t => {
  // Within the test, since a file ends when no test is left, even if a server is still starting.
  const { url = '', missing } = await mongodb()
  t.jobs = 2

  t.test('it prints each behaviour, finds the service right, and leaves no database', needs(missing), async t => {
    const { code, stdout } = await check(url)
    for (const { name, decides = false } of behaviours) t.match(stdout, `\n${decides ? '✓' : ' '} ${name} `)
    t.match(stdout, /\nRight on this server: .*\n$/)
    t.equal(code, 0)

    const client = new MongoClient(url)
    t.teardown(() => client.close())
    const { databases } = await client.db('admin').admin().listDatabases()
    const [, database = ''] = /The database is (\w+)/.exec(stdout) ?? []
    t.match(database, /^plant_store_check_/)
    t.notOk(databases.some(({ name }) => name === database), `${database} is dropped`)
  })

  t.test('where the user may not write, it says so in one line', needs(missingServer), async t => {
    const server = await startServer(t)
    await server.requireUsers()
    const { code, stdout, stderr } = await check(`mongodb://${server.host}/`)
    t.match(stderr, /^the new database \w+ at .* may not be written to \(.*\): the URL needs a user with .*\n$/)
    t.equal(stdout, '')
    t.equal(code, 2)
  })
})

t.test('without a URL it says so, and how one looks', async t => {
  t.match(await check(), { code: 2, stdout: '', stderr: /^no URL: .*mongodb:\/\/.*\n$/ })
})

t.test('a URL that cannot be read is not printed', async t => {
  const { code, stderr } = await check('http://user:secret@127.0.0.1/')
  t.equal(code, 2)
  t.match(stderr, /^the URL cannot be read: .*\n$/)
  t.notMatch(stderr, /secret/)
})

t.test('where no server listens it says so in one line', async t => {
  const address = `127.0.0.1:${await closedPort()}`
  t.match(await check(`mongodb://${address}/`), {
    code: 2, stdout: '', stderr: new RegExp(`^no server responds at ${address} .*: start it, or correct the URL\\n$`)
  })
})

t.test('a command of --start that ends is reported with its last line', async t => {
  const url = `mongodb://127.0.0.1:${await closedPort()}/`
  const result = await check(url, '--start', 'echo first >&2; echo the disk is full >&2; exit 3')
  t.match(result, { code: 2, stdout: '', stderr: 'the command ended with 3: the disk is full\n' })
})

t.test('--kill without --start is refused: it kills only what it has started', async t => {
  t.match(await check('mongodb://127.0.0.1/', '--kill'), { code: 2, stdout: '', stderr: /--start/ })
})

t.test('--help explains the options and the exit codes', async t => {
  t.match(await check('--help'), { code: 0, stdout: /--kill[^]*Exit code: 0/, stderr: '' })
})

t.test('each behaviour has a row in docs/mongodb-servers.md', async t => {
  const rows = documentedRows()
  for (const { name } of behaviours) t.ok(rows.has(name), name)
})

t.test('where plants are stored, it finds the service right, and names a database that it cannot drop', async t => {
  const { url } = await ScriptedMongo.start(t)
  const { code, stdout, stderr } = await check(url)
  t.match(stdout, /\nRight on this server: .*\n$/)
  t.notMatch(stdout, '✗')
  t.match(stderr, /^the database plant_store_check_\w+ could not be dropped: error 59\n$/)
  t.equal(code, 0)
})

t.test('where an acknowledged plant is not stored, it finds the service wrong', async t => {
  const acknowledge: Cue = ({ request: { documents } }) => ({ n: documents.length, ok: 1 })
  const { url } = (await ScriptedMongo.start(t)).on('insert', acknowledge, { times: Infinity })
  const { code, stdout } = await check(url)
  t.match(stdout, /\n✗ what is read back +\d+ of \d+ plants are missing/)
  t.match(stdout, /\nNOT right on this server: .*what is read back/)
  t.equal(code, 1)
})
