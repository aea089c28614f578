import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import plantStore from '../../../src/index.js'
import { host, tokens } from '../../support/http/hosts.js'
import { exchange, listen } from '../../support/http/raw-connection.js'
import { AUTHORIZATION, JSON_TYPE, serve } from '../../support/http/service.js'
import { forgetfulStore } from '../../support/stores/forgetful-store.js'

const CHUNKED = 'Transfer-Encoding: chunked'
const CHUNKS = '2\r\n{}\r\n0\r\n\r\n'

const request = (line: string, headers: string[], body = ''): string => [`${line} HTTP/1.1`, ...headers, '', body].join('\r\n')
const create = (headers: string[], body: string): string => request('POST /plants', ['Host: a', JSON_TYPE, ...headers], body)
const GOOD = create([AUTHORIZATION, 'Content-Length: 21'], '{"id":7,"name":"ivy"}')

/** Refused requests after whose response the connection is closed. */
const refused: Record<string, [status: number, sent: string]> = {
  'no credentials, a body in chunks': [401, create([CHUNKED], CHUNKS)],
  'an unknown token, a body in chunks': [401, create(['Authorization: Bearer an-unknown-token', CHUNKED], CHUNKS)],
  'another media type, a body in chunks': [415, create([AUTHORIZATION, CHUNKED], CHUNKS).replace(JSON_TYPE, 'Content-Type: text/plain')],
  'a body over the limit, in chunks': [413, create([AUTHORIZATION, CHUNKED], `65\r\n${'x'.repeat(101)}\r\n0\r\n\r\n`)],
  'a body over the limit, before it arrives': [413, create([AUTHORIZATION, 'Content-Length: 60000'], '')]
}

/** Requests that are refused by the service; a host may respond to them in its own way. */
const refusedByService: Record<string, [status: number, sent: string]> = {
  'no credentials, a body that waits for 100 Continue': [401, create(['Expect: 100-continue', 'Content-Length: 2'], '{}')],
  'two Host headers': [400, request('GET /health/live', ['Host: a', 'Host: b'])],
  'two Host headers, a body': [400, create(['Host: b', AUTHORIZATION, 'Content-Length: 2'], '{}')],
  'another method, a body in chunks': [405, request('PUT /plants', ['Host: a', CHUNKED], CHUNKS)]
}

/** Asserts that a create request in the same segment after each of them is not executed, as it gets no response. */
async function assertNoneExecutedAfter (
  t: Test, port: number, plants: unknown[], refused: Record<string, [number, string]>
): Promise<void> {
  for (const [name, [status, sent]] of Object.entries(refused)) {
    const { answers, closed } = await exchange(port, sent + GOOD, { expected: Infinity })
    t.match(answers, [{ status, headers: { connection: 'close' } }], name)
    t.equal(answers.length, 1, name)
    t.ok(closed, name)
    await sleep(5)
    t.strictSame(plants, [], name)
  }
}

t.test('a create request pipelined after a refusal that closes the connection is not executed', async t => {
  const store = forgetfulStore()
  const { port } = await serve(t, store, { BODY_LIMIT: 100 })
  await assertNoneExecutedAfter(t, port, store.plants, { ...refused, ...refusedByService })
})

t.test('in a host, a create request pipelined after such a refusal is not executed either', async t => {
  const store = forgetfulStore()
  const app = host(t)
  await app.register(plantStore, { store, tokens, bodyLimit: 100 })
  await assertNoneExecutedAfter(t, await listen(app), store.plants, refused)
})

t.test('a create request pipelined after a refusal that leaves the connection open gets its response', async t => {
  const store = forgetfulStore()
  const { port } = await serve(t, store)
  for (const sent of [create(['Content-Length: 2'], '{}'), create([AUTHORIZATION, CHUNKED], CHUNKS)]) {
    const { answers } = await exchange(port, sent + GOOD, { expected: 2 })
    t.match(answers.map(({ status }) => status), [/^40[01]$/, 200])
  }
  t.strictSame(store.plants.map(({ id }) => id), [7n, 7n])
})
