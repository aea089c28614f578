import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { messageOf } from '../../src/error-message.js'
import { readConfiguration } from '../../src/config/configuration.js'
import { createStore } from '../../src/config/configured-store.js'
import { makeCertificate } from '../support/process/make-certificate.js'
import { create, launch, program, run, testFolder, token } from '../support/process/program.js'
import { until } from '../support/until.js'

const SECRET = 'tooshort!secret'

t.test('an invalid value fails startup with one line: the variable, what is wrong and what is allowed', async t => {
  const folder = testFolder(t)
  const text = join(folder, 'text')
  writeFileSync(text, 'no PEM\n')
  const one = makeCertificate(folder, 'one')
  const other = makeCertificate(folder, 'other')
  const damaged = join(folder, 'damaged')
  writeFileSync(damaged, one.pem + other.pem.slice(0, 300))
  const empty = join(folder, 'empty')
  writeFileSync(empty, '')
  const loop = join(folder, 'loop')
  symlinkSync(loop, loop)
  const wrong: [RegExp, NodeJS.ProcessEnv][] = [
    [/^PORT is "80x": it must be an integer from 0 to 65535: the port to listen on.*; unset, it is 3000$/, { PORT: '80x' }],
    [/^HOST is empty: it must be /, { HOST: '' }],
    [/^ACCESS_TOKENS: token 1 of 1 is too short: each must be 16 characters or more/, { ACCESS_TOKENS: SECRET }],
    [/^ACCESS_TOKENS: token 2 of 2 .*16 characters or more/, { ACCESS_TOKENS: `${token},${SECRET}` }],
    [/^ACCESS_TOKENS_FILE and ACCESS_TOKENS are both set: set one of them$/, { ACCESS_TOKENS: SECRET, ACCESS_TOKENS_FILE: text }],
    [/^MONGODB_URL_FILE and MONGODB_URL are both set: set one of them$/, { MONGODB_URL: `mongodb://user:${SECRET}@host/`, MONGODB_URL_FILE: text }],
    [/^MONGODB_URL cannot be used: it must be a MongoDB connection string/, { MONGODB_URL_FILE: text }],
    [/^ACCESS_TOKENS_FILE is .*cannot be read \(ENOENT\): it must be a readable file$/, { ACCESS_TOKENS_FILE: join(folder, 'none') }],
    [/^MONGODB_URL cannot be used: it must be a MongoDB connection string/, { MONGODB_URL: `http://user:${SECRET}@host/` }],
    [/^MONGODB_URL cannot be used: /, { MONGODB_URL: `mongodb://user:${SECRET}@host:99999999/` }],
    [/^MONGODB_URL cannot be used: /, { MONGODB_URL: `mongodb://user:${SECRET}` }],
    [/^MONGODB_URL cannot be used: /, { MONGODB_URL: `mongodb://user:${SECRET}%40host/` }],
    [/^MONGODB_URL cannot be used: /, { MONGODB_URL: `mongodb://user:${SECRET}@localhost/?retryWrites=perhaps` }],
    [/^.*text.*$/, { DATA_DIR: join(text, 'data') }],
    [/^DATA_DIR is empty/, { DATA_DIR: '' }],
    [/^SQLite: .* cannot be written \(ENAMETOOLONG/, { DATA_DIR: join(folder, 'x'.repeat(256)) }],
    [/^SQLite: .* cannot be written \(ELOOP/, { DATA_DIR: join(loop, 'data') }],
    [/^ACCESS_LOG is "yes": it must be true or false/, { ACCESS_LOG: 'yes' }],
    [/^LOG_LEVEL is "loud": it must be one of fatal, error, /, { LOG_LEVEL: 'loud' }],
    [/^BODY_LIMIT is "0": it must be an integer from 1 to 16000000: bytes/, { BODY_LIMIT: '0' }],
    [/^STORE_TIMEOUT is "1e3"/, { STORE_TIMEOUT: '1e3' }],
    [/^QUEUE_LIMIT is "-1"/, { QUEUE_LIMIT: '-1' }],
    [/^QUEUE_BYTES is "64MB": it must be an integer from 1 to \d+: bytes/, { QUEUE_BYTES: '64MB' }],
    [/^TRUST_PROXY holds "10.0.0.0\/33": it must be addresses or CIDR ranges of proxies/, { TRUST_PROXY: '127.0.0.1, 10.0.0.0/33' }],
    [/^TRUST_PROXY holds "proxy.example": /, { TRUST_PROXY: 'proxy.example' }],
    [/^TRUST_PROXY holds "1": /, { TRUST_PROXY: '1' }],
    [/^KEEP_ALIVE_TIMEOUT is "72s": it must be an integer from 1 to 3600000: milliseconds /, { KEEP_ALIVE_TIMEOUT: '72s' }],
    [/^REQUEST_ID_HEADER is "x id": it must be the name of a header/, { REQUEST_ID_HEADER: 'x id' }],
    [/^REQUEST_ID_HEADER is Authorization, which has another meaning in HTTP/, { REQUEST_ID_HEADER: 'Authorization' }],
    [/^METRICS_PORT is "70000": it must be an integer from 0 to 65535: the port /, { METRICS_PORT: '70000' }],
    [/^DOCS is "on": it must be true or false: /, { DOCS: 'on' }],
    [/^TLS_CERT_FILE and TLS_KEY_FILE must both be set, or neither$/, { TLS_CERT_FILE: one.cert }],
    [/^TLS_CERT_FILE and TLS_KEY_FILE must both be set, or neither$/, { TLS_KEY_FILE: one.key }],
    [/^TLS_CERT_FILE is ".*", which cannot be read \(ENOENT\)/, { TLS_CERT_FILE: join(folder, 'none'), TLS_KEY_FILE: one.key }],
    [/^TLS_CERT_FILE cannot be used for TLS \(ERR_OSSL_\w+\): it must be PEM, /, { TLS_CERT_FILE: text, TLS_KEY_FILE: one.key }],
    [/^TLS_KEY_FILE cannot be used for TLS \(ERR_OSSL_\w+\): it must be the private key of TLS_CERT_FILE, PEM, without a passphrase$/, { TLS_CERT_FILE: one.cert, TLS_KEY_FILE: text }],
    [/^TLS_CERT_FILE .*\(ERR_OSSL_\w+\): it must be PEM, the certificate first, then its complete chain$/, { TLS_CERT_FILE: damaged, TLS_KEY_FILE: one.key }],
    [/^TLS_CERT_FILE cannot be used for TLS /, { TLS_CERT_FILE: empty, TLS_KEY_FILE: one.key }],
    [/^TLS_KEY_FILE cannot be used for TLS /, { TLS_CERT_FILE: one.cert, TLS_KEY_FILE: empty }],
    [/^TLS_KEY_FILE cannot be used for TLS \(ERR_OSSL_X509_KEY_VALUES_MISMATCH\)/, { TLS_CERT_FILE: one.cert, TLS_KEY_FILE: other.key }],
    [/^ACCESS_TOKENS is not set: with NODE_ENV=production/, { NODE_ENV: 'production' }]
  ]
  for (const [line, values] of wrong) {
    const tokens = 'ACCESS_TOKENS_FILE' in values || 'NODE_ENV' in values ? {} : { ACCESS_TOKENS: token }
    const env = { PORT: '0', DATA_DIR: folder, ...tokens, ...values }
    const names = Object.keys(values).join(', ')
    const message = await refusal(env)
    t.match(message, line, names)
    t.notMatch(message, '\n', 'one line')
    t.notMatch(message, SECRET, 'no secret')
    if (!startedWith.test(message)) continue
    const { code, stdout, stderr } = await run([], env)
    t.strictSame({ code, stdout, stderr }, { code: 1, stdout: '', stderr: `plant-store: ${message}\n` }, `startup with ${names}`)
  }
})

/** Faults with which the program is also started: one of a variable, one of several, one of the store. */
const startedWith = /^(?:PORT is "80x"|ACCESS_TOKENS is not set|SQLite: .*ELOOP)/

/** The message with which startup would fail, because of the configuration or when the store is opened. */
async function refusal (env: NodeJS.ProcessEnv): Promise<string> {
  const store = await Promise.resolve().then(() => createStore(readConfiguration(env))).catch((error: Error) => error)
  if (store instanceof Error) return store.message
  try {
    await store.open?.()
    return 'none'
  } catch (error) {
    return messageOf(error)
  } finally {
    await store.close?.()
  }
}

const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

t.test('HOST sets the address, LOG_LEVEL the lines of the log, BODY_LIMIT the bytes of a body, and QUEUE_LIMIT the pending create requests', async t => {
  const limits = { LOG_LEVEL: 'warn', BODY_LIMIT: '100', QUEUE_LIMIT: '1' }
  const service = launch(t, { HOST: '0.0.0.0', DATA_DIR: testFolder(t), ACCESS_TOKENS: token, ...limits })
  const port = () => /listens at +http:\/\/0\.0\.0\.0:(\d+)/.exec(service.stdout)?.[1]
  await until(() => port() !== undefined)
  const address = `http://127.0.0.1:${port()}`
  const send = async (body: string) => (await fetch(`${address}/plants`, { method: 'POST', headers, body })).status
  const plant = (bytes: number) => `{"id":0,"name":"${'x'.repeat(bytes - 18)}"}`
  t.equal(plant(100).length, 100)
  t.equal(await send(plant(100)), 200)
  t.equal(await send(plant(101)), 413)
  const statuses = new Set<number>()
  for (let turn = 0; turn < 100 && statuses.size < 2; turn++) {
    for (const { status } of await Promise.all(Array.from({ length: 20 }, () => create(address)))) statuses.add(status)
  }
  t.strictSame([...statuses].sort(), [200, 503])
  t.match(await service.end('SIGTERM'), { code: 0 })
  t.strictSame([...new Set(service.log.map(({ level }) => level))], [40])
})

t.test('secrets can be read from the files that ACCESS_TOKENS_FILE and MONGODB_URL_FILE name', async t => {
  const [ACCESS_TOKENS_FILE, MONGODB_URL_FILE] = [join(testFolder(t), 'tokens'), join(testFolder(t), 'mongodb-url')]
  writeFileSync(ACCESS_TOKENS_FILE, `${token}, the-other-access-token\n`)
  writeFileSync(MONGODB_URL_FILE, 'mongodb://user:secret@host/\n')
  const { ACCESS_TOKENS, MONGODB_URL } = readConfiguration({ ACCESS_TOKENS_FILE, MONGODB_URL_FILE })
  t.strictSame([ACCESS_TOKENS, MONGODB_URL], [[token, 'the-other-access-token'], 'mongodb://user:secret@host/'])
})

t.test('a secret can be read from a pipe', async t => {
  // Once the variables have been read, startup fails: no folder can be made there.
  const script = `echo ${token} | ACCESS_TOKENS_FILE=/dev/stdin DATA_DIR=/dev/null "$0" "$1"`
  const start = promisify(execFile)('sh', ['-c', script, process.execPath, program], { env: { PATH: process.env.PATH, PORT: '0' } })
  await t.rejects(start, { code: 1, stderr: /^plant-store: SQLite: \/dev\/null\/plants\.db cannot be written / })
})
