import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { launch } from '../program.js'

const TOKEN = 'a-token-that-no-log-may-hold'

t.jobs = 2

/** Asserts that the service does not start, and says why in one line. */
async function stops (t: Test, env: NodeJS.ProcessEnv, message: RegExp, counted = false): Promise<void> {
  const service = launch(t, { DATA_DIR: t.testdir(), ...env }, { counted })
  t.match(await service.ended, { code: 1, signal: null })
  t.match(service.stderr, /^plant-store: [^\n]+\n$/)
  t.match(service.stderr, message)
  t.notMatch(service.stdout + service.stderr, /no-log-may|token {2}/)
}

t.test('in production it does not start without a token', async t =>
  stops(t, { NODE_ENV: 'production' }, /ACCESS_TOKENS is not set: with NODE_ENV=production set it/))

t.test('a wrong variable stops the start, in a line that names it, its fault and what is allowed', async t =>
  stops(t, { PORT: 'http' }, /PORT is "http": it must be a port, an integer from 0 to 65535; unset, it is 3000$/m))

t.test('a wrong secret is not shown', async t =>
  stops(t, { ACCESS_TOKENS: `${TOKEN},no-log-may!` }, /ACCESS_TOKENS: token 2 of 2 .*16 characters or more/))

t.test('a wrong MongoDB URL is not shown', async t =>
  stops(t, { ACCESS_TOKENS: TOKEN, MONGODB_URL: 'mongodb://user:no-log-may@localhost/?retryWrites=perhaps' }, /MONGODB_URL cannot be used/))

t.test('a folder that cannot be written stops it', async t => {
  const folder = t.testdir({ file: 'x' })
  const service = launch(t, { DATA_DIR: `${folder}/file/data`, ACCESS_TOKENS: TOKEN })
  t.match(await service.ended, { code: 1, signal: null })
  t.match(service.stderr, /^plant-store: [^\n]*\/file[^\n]*\n$/, 'in one line, without a stack')
})

t.test('a port that is taken stops it', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  await stops(t, { PORT: String((other.address() as AddressInfo).port), ACCESS_TOKENS: TOKEN }, /EADDRINUSE/, true)
})
