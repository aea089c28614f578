import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, testFolder, token } from '../support/process/program.js'
import { makeCertificate } from '../support/process/make-certificate.js'

const SECRET = 'tooshort!secret'

t.test('an invalid value fails startup with one line that names the variable, its fault and what is allowed', async t => {
  const folder = testFolder(t)
  const text = join(folder, 'text')
  writeFileSync(text, 'no PEM\n')
  const one = makeCertificate(folder, 'one')
  const other = makeCertificate(folder, 'other')
  const wrong: [RegExp, NodeJS.ProcessEnv][] = [
    [/^plant-store: PORT is "80x": it must be a port, an integer from 0 to 65535; unset, it is 3000$/, { PORT: '80x' }],
    [/^plant-store: HOST is empty: it must be /, { HOST: '' }],
    [/^plant-store: ACCESS_TOKENS: token 1 of 1 is too short: each must be 16 characters or more/, { ACCESS_TOKENS: SECRET }],
    [/^plant-store: ACCESS_TOKENS: token 2 of 2 .*16 characters or more/, { ACCESS_TOKENS: `${token},${SECRET}` }],
    [/^plant-store: ACCESS_TOKENS_FILE and ACCESS_TOKENS are both set: set one of them$/, { ACCESS_TOKENS: SECRET, ACCESS_TOKENS_FILE: text }],
    [/^plant-store: MONGODB_URL_FILE and MONGODB_URL are both set: set one of them$/, { MONGODB_URL: `mongodb://user:${SECRET}@host/`, MONGODB_URL_FILE: text }],
    [/^plant-store: MONGODB_URL cannot be used: it must be a MongoDB connection string/, { MONGODB_URL_FILE: text }],
    [/^plant-store: ACCESS_TOKENS_FILE is .*cannot be read \(ENOENT\): it must be a readable file$/, { ACCESS_TOKENS_FILE: join(folder, 'none') }],
    [/^plant-store: MONGODB_URL cannot be used: it must be a MongoDB connection string/, { MONGODB_URL: `http://user:${SECRET}@host/` }],
    [/^plant-store: MONGODB_URL cannot be used: /, { MONGODB_URL: `mongodb://user:${SECRET}@host:99999999/` }],
    [/^plant-store: MONGODB_URL cannot be used: /, { MONGODB_URL: `mongodb://user:${SECRET}@localhost/?retryWrites=perhaps` }],
    [/^plant-store: .*text.*$/, { DATA_DIR: join(text, 'data') }],
    [/^plant-store: DATA_DIR is empty/, { DATA_DIR: '' }],
    [/^plant-store: ACCESS_LOG is "yes": it must be true or false/, { ACCESS_LOG: 'yes' }],
    [/^plant-store: LOG_LEVEL is "loud": it must be fatal, error, /, { LOG_LEVEL: 'loud' }],
    [/^plant-store: BODY_LIMIT is "0": it must be bytes, an integer from 1/, { BODY_LIMIT: '0' }],
    [/^plant-store: STORE_TIMEOUT is "1e3"/, { STORE_TIMEOUT: '1e3' }],
    [/^plant-store: QUEUE_LIMIT is "-1"/, { QUEUE_LIMIT: '-1' }],
    [/^plant-store: QUEUE_BYTES is "64MB": it must be bytes, an integer from 1 to /, { QUEUE_BYTES: '64MB' }],
    [/^plant-store: TRUST_PROXY holds "10.0.0.0\/33": it must be addresses or CIDR ranges of proxies/, { TRUST_PROXY: '127.0.0.1, 10.0.0.0/33' }],
    [/^plant-store: TRUST_PROXY holds "proxy.example": /, { TRUST_PROXY: 'proxy.example' }],
    [/^plant-store: REQUEST_ID_HEADER is "x id": it must be the name of a header/, { REQUEST_ID_HEADER: 'x id' }],
    [/^plant-store: REQUEST_ID_HEADER is Authorization, which has another meaning in HTTP/, { REQUEST_ID_HEADER: 'Authorization' }],
    [/^plant-store: WORKERS is "0": it must be a number of processes, an integer from 1 to 256/, { WORKERS: '0' }],
    [/^plant-store: METRICS_PORT is "70000": it must be a port, an integer from 0 to 65535$/, { METRICS_PORT: '70000' }],
    [/^plant-store: METRICS_PORT is 4000, which PORT is too: it must be another port$/, { METRICS_PORT: '4000', PORT: '4000' }],
    [/^plant-store: DOCS is "on": it must be true or false$/, { DOCS: 'on' }],
    [/^plant-store: TLS_KEY_FILE is not set: /, { TLS_CERT_FILE: one.cert }],
    [/^plant-store: TLS_CERT_FILE is not set: /, { TLS_KEY_FILE: one.key }],
    [/^plant-store: TLS_CERT_FILE is ".*", which cannot be read \(ENOENT\)/, { TLS_CERT_FILE: join(folder, 'none'), TLS_KEY_FILE: one.key }],
    [/^plant-store: TLS_CERT_FILE names a file without a certificate/, { TLS_CERT_FILE: text, TLS_KEY_FILE: one.key }],
    [/^plant-store: TLS_KEY_FILE names a file without a private key/, { TLS_CERT_FILE: one.cert, TLS_KEY_FILE: text }],
    [/^plant-store: TLS_KEY_FILE names a key of another certificate/, { TLS_CERT_FILE: one.cert, TLS_KEY_FILE: other.key }],
    [/^plant-store: ACCESS_TOKENS is not set: with NODE_ENV=production/, { NODE_ENV: 'production' }]
  ]
  // Two at a time: a start is mostly the loading of the program.
  const lanes = [wrong.slice(0, wrong.length / 2), wrong.slice(wrong.length / 2)].map(async half => {
    for (const [line, env] of half) {
      const tokens = 'ACCESS_TOKENS_FILE' in env || 'NODE_ENV' in env ? {} : { ACCESS_TOKENS: token }
      const { code, stdout, stderr } = await run([], { PORT: '0', DATA_DIR: folder, ...tokens, ...env }, { counted: env.DOCS !== undefined || env.TLS_CERT_FILE !== undefined })
      t.match(stderr.trimEnd(), line, `${Object.keys(env).join(', ')}`)
      t.equal(stderr.split('\n').length, 2, 'one line')
      t.equal(code, 1)
      t.equal(stdout, '')
      t.notMatch(stderr, SECRET, 'no secret')
    }
  })
  await Promise.all(lanes)
})

t.test('with workers, too, a failed start is one line', async t => {
  const folder = testFolder(t)
  writeFileSync(join(folder, 'file'), '')
  const { code, stderr } = await run([], { PORT: '0', WORKERS: '3', ACCESS_TOKENS: token, DATA_DIR: join(folder, 'file') }, { counted: true })
  t.equal(code, 1)
  t.match(stderr, /^plant-store: /)
  t.equal(stderr.trimEnd().split('\n').length, 1, stderr)
})

t.test('--help and --version answer; an unknown command is refused with a hint', async t => {
  const [help, version, unknown] = await Promise.all([run(['--help'], {}, { counted: true }), run(['--version'], {}), run(['sevre'], {}, { counted: true })])
  t.equal(help.code, 0)
  t.match(help.stdout, /Usage: plant-store \[serve\]\n +plant-store export \[FILE\]/)
  for (const variable of ['WORKERS', 'METRICS_PORT', 'TLS_CERT_FILE', 'DOCS', 'ACCESS_TOKENS_FILE']) t.match(help.stdout, variable)
  t.match(version.stdout, /^\d+\.\d+\.\d+\n$/)
  t.equal(unknown.code, 2)
  t.equal(unknown.stderr, 'plant-store: "sevre" is not a command; plant-store --help lists commands and options\n')
})
