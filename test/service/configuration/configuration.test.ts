import { generateKeyPairSync } from 'node:crypto'
import { openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { messageOf } from '../../../src/error-message.js'
import {
  environment, readConfiguration, readStoreLocation, warningsOf
} from '../../../src/service/configuration/configuration.js'
import { createStore, describeStore } from '../../../src/service/configured-store.js'
import { createLogger } from '../../../src/service/logger.js'
import { buildService, TOKEN } from '../../support/http/service.js'
import { makeCertificate } from '../../support/process/make-certificate.js'
import { testFolder, token } from '../../support/process/program.js'

const SECRET = 'tooshort-secret'

t.test('an invalid value fails startup with one line: the variable, what is wrong and what is allowed', async t => {
  const folder = testFolder(t)
  const text = join(folder, 'text')
  writeFileSync(text, 'no PEM\n')
  const one = makeCertificate(folder, 'one')
  const other = makeCertificate(folder, 'other')
  const rsa = join(folder, 'rsa')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(rsa, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const damaged = join(folder, 'damaged')
  writeFileSync(damaged, one.pem + other.pem.slice(0, 300))
  const chain = join(folder, 'chain')
  writeFileSync(chain, other.pem + one.pem)
  const empty = join(folder, 'empty')
  writeFileSync(empty, '')
  const secret = join(folder, 'secret')
  writeFileSync(secret, SECRET)
  const badUrl = join(folder, 'bad-url')
  writeFileSync(badUrl, `mongodb://user:${SECRET}@host:99999999/`)
  const loop = join(folder, 'loop')
  symlinkSync(loop, loop)
  const wrong: { env: NodeJS.ProcessEnv, says: RegExp }[] = [
    {
      env: { PORT: '80x' },
      says: /^PORT is "80x", which cannot be used: it must be an integer from 0 to 65535: .*; unset, it is 3000$/
    },
    { env: { HOST: '' }, says: /^HOST is "", which is empty: it must be / },
    {
      env: { ACCESS_TOKENS: SECRET },
      says: /^ACCESS_TOKENS: token 1 cannot be used: it must be 16 characters or more/
    },
    { env: { ACCESS_TOKENS: `${token},${SECRET}!` }, says: /^ACCESS_TOKENS: token 2 .*16 characters or more/ },
    { env: { ACCESS_TOKENS_FILE: secret }, says: /^ACCESS_TOKENS_FILE \(".*secret"\): token 1 cannot be used: / },
    { env: { ACCESS_TOKENS_FILE: empty }, says: /^ACCESS_TOKENS_FILE \(".*empty"\) is empty: / },
    { env: { ACCESS_TOKENS: ',' }, says: /^ACCESS_TOKENS cannot be used: / },
    { env: { MONGODB_URL_FILE: badUrl }, says: /^MONGODB_URL_FILE \(".*bad-url"\) cannot be used: / },
    {
      env: { ACCESS_TOKENS: SECRET, ACCESS_TOKENS_FILE: text },
      says: /^ACCESS_TOKENS_FILE and ACCESS_TOKENS are both set: set one of them$/
    },
    {
      env: { MONGODB_URL: `mongodb://user:${SECRET}@host/`, MONGODB_URL_FILE: text },
      says: /^MONGODB_URL_FILE and MONGODB_URL are both set: set one of them$/
    },
    {
      env: { MONGODB_URL_FILE: text },
      says: /^MONGODB_URL_FILE \(".*text"\) cannot be used: it must be a MongoDB connection string/
    },
    {
      env: { ACCESS_TOKENS_FILE: join(folder, 'none') },
      says: /^ACCESS_TOKENS_FILE is .*cannot be read \(ENOENT\): it must be a readable file$/
    },
    {
      env: { MONGODB_URL: `http://user:${SECRET}@host/` },
      says: /^MONGODB_URL cannot be used: it must be a MongoDB connection string/
    },
    ...[`p@${SECRET}`, `${SECRET}/x`, `${SECRET}:x`, `${SECRET}?x`, `${SECRET}%`].map(password => ({
      env: { MONGODB_URL: `mongodb://user:${password}@host/plants` },
      says: /^MONGODB_URL cannot be used: .*; in a user name and a password, percent-encode all but /
    })),
    { env: { MONGODB_URL: `mongodb://user:${SECRET}@host:99999999/` }, says: /^MONGODB_URL cannot be used: / },
    { env: { MONGODB_URL: `mongodb://user:${SECRET}` }, says: /^MONGODB_URL cannot be used: / },
    { env: { MONGODB_URL: `mongodb://user:${SECRET}%40host/` }, says: /^MONGODB_URL cannot be used: / },
    {
      env: { MONGODB_URL: `mongodb://user:${SECRET}@localhost/?retryWrites=perhaps` },
      says: /^MONGODB_URL cannot be used: /
    },
    { env: { DATA_DIR: join(text, 'data') }, says: /^.*text.*$/ },
    { env: { DATA_DIR: '' }, says: /^DATA_DIR is "", which is empty/ },
    {
      env: { DATA_DIR: join(folder, 'x'.repeat(256)) },
      says: /^SQLite: .*\/plants\.db .*ENAMETOOLONG/
    },
    { env: { DATA_DIR: join(loop, 'data') }, says: /^SQLite: .*\/plants\.db .*ELOOP/ },
    { env: { ACCESS_LOG: 'yes' }, says: /^ACCESS_LOG is "yes", which cannot be used: it must be true or false/ },
    {
      env: { LOG_LEVEL: 'loud' },
      says: /^LOG_LEVEL is "loud", which cannot be used: it must be one of fatal, error, /
    },
    {
      env: { BODY_LIMIT: '0' },
      says: /^BODY_LIMIT is "0", which cannot be used: it must be an integer from 1 to 16000000: bytes/
    },
    { env: { STORE_TIMEOUT: '1e3' }, says: /^STORE_TIMEOUT is "1e3"/ },
    { env: { STORE_TIMEOUT: '499' }, says: /^STORE_TIMEOUT is "499", .* an integer from 500 to 3600000: / },
    { env: { QUEUE_LIMIT: '-1' }, says: /^QUEUE_LIMIT is "-1"/ },
    {
      env: { QUEUE_BYTES: '64MB' },
      says: /^QUEUE_BYTES is "64MB", which cannot be used: it must be an integer from 1 to \d+: maximum bytes/
    },
    {
      env: { TRUST_PROXY: '127.0.0.1, 10.0.0.0/33' },
      says: /^TRUST_PROXY is "127.0.0.1, 10.0.0.0\/33": it must be addresses or CIDR ranges of proxies/
    },
    { env: { TRUST_PROXY: 'proxy.example' }, says: /^TRUST_PROXY is "proxy.example": / },
    { env: { TRUST_PROXY: '1' }, says: /^TRUST_PROXY is "1": / },
    {
      env: { KEEP_ALIVE_TIMEOUT: '72s' },
      says: /^KEEP_ALIVE_TIMEOUT is "72s", which cannot be used: it must be an integer from 1 to 3600000: milliseconds /
    },
    {
      env: { REQUEST_ID_HEADER: 'x id' },
      says: /^REQUEST_ID_HEADER is "x id", which cannot be used: it must be the name of a header/
    },
    {
      env: { REQUEST_ID_HEADER: 'Authorization' },
      says: /^REQUEST_ID_HEADER is Authorization, which has another meaning in HTTP/
    },
    { env: { REQUEST_ID_HEADER: 'cookie' }, says: /^REQUEST_ID_HEADER is cookie, which has another meaning/ },
    {
      env: { METRICS_PORT: '70000' },
      says: /^METRICS_PORT is "70000", which cannot be used: it must be an integer from 0 to 65535: the port /
    },
    {
      env: { PORT: '9464', METRICS_PORT: '9464' },
      says: /^METRICS_PORT is 9464, the port of the service: it must be another port than PORT$/
    },
    { env: { NODE_ENV: 'prod' }, says: /^NODE_ENV is "prod": it must be production, development or test, or unset$/ },
    { env: { ACCESS_TOKENS_FILE: folder }, says: /^ACCESS_TOKENS_FILE is ".*", which is no regular file: / },
    { env: { DOCS: 'on' }, says: /^DOCS is "on", which cannot be used: it must be true or false: / },
    { env: { TLS_CERT_FILE: one.cert }, says: /^TLS_CERT_FILE and TLS_KEY_FILE must both be set, or neither$/ },
    { env: { TLS_KEY_FILE: one.key }, says: /^TLS_CERT_FILE and TLS_KEY_FILE must both be set, or neither$/ },
    {
      env: { TLS_CERT_FILE: join(folder, 'none'), TLS_KEY_FILE: one.key },
      says: /^TLS_CERT_FILE is ".*", which cannot be read \(ENOENT\)/
    },
    {
      env: { TLS_CERT_FILE: text, TLS_KEY_FILE: one.key },
      says: /^TLS_CERT_FILE cannot be used for TLS \(ERR_OSSL_\w+\): it must be PEM, /
    },
    {
      env: { TLS_CERT_FILE: one.cert, TLS_KEY_FILE: text },
      says: /^TLS_KEY_FILE .*\(ERR_OSSL_\w+\): it must be the private key of TLS_CERT_FILE, PEM, without a passphrase$/
    },
    {
      env: { TLS_CERT_FILE: damaged, TLS_KEY_FILE: one.key },
      says: /^TLS_CERT_FILE .*\(ERR_OSSL_\w+\): it must be PEM, the certificate first, then its complete chain$/
    },
    { env: { TLS_CERT_FILE: empty, TLS_KEY_FILE: one.key }, says: /^TLS_CERT_FILE cannot be used for TLS / },
    { env: { TLS_CERT_FILE: one.cert, TLS_KEY_FILE: empty }, says: /^TLS_KEY_FILE cannot be used for TLS / },
    {
      env: { TLS_CERT_FILE: one.cert, TLS_KEY_FILE: other.key },
      says: /^TLS_KEY_FILE is not the key of the first certificate in TLS_CERT_FILE, "CN=one": it must /
    },
    {
      env: { TLS_CERT_FILE: chain, TLS_KEY_FILE: one.key },
      says: /^TLS_KEY_FILE .*, "CN=other": the certificate of this key comes later in TLS_CERT_FILE: put it first$/
    },
    {
      env: { TLS_CERT_FILE: one.cert, TLS_KEY_FILE: rsa },
      says: /^TLS_KEY_FILE is not the key of the first certificate in TLS_CERT_FILE, "CN=one": it must /
    },
    { env: { NODE_ENV: 'production' }, says: /^ACCESS_TOKENS is not set: with NODE_ENV=production/ }
  ]
  for (const { env: values, says } of wrong) {
    const tokens = 'ACCESS_TOKENS_FILE' in values || 'NODE_ENV' in values ? {} : { ACCESS_TOKENS: token }
    const env = { PORT: '0', DATA_DIR: folder, ...tokens, ...values }
    const names = Object.keys(values).join(', ')
    const message = await refusal(env)
    t.match(message, says, names)
    t.notMatch(message, '\n', 'one line')
    t.notMatch(message, SECRET, 'no secret')
  }
})

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

/** The message with which each reader of DATA_DIR refuses a value: the service, and a command. */
function refusalsOf (DATA_DIR: string): string[] {
  return [readConfiguration, readStoreLocation].map(read => refusalBy(() => read({ DATA_DIR })))
}

function refusalBy (read: () => unknown): string {
  try {
    read()
    return 'accepted'
  } catch (error) {
    return messageOf(error)
  }
}

t.test('a DATA_DIR in quotes, or with white space at an end, is refused', t => {
  const quoted = ['"/srv/data"', "'/srv/data'", '"/srv/data" # mine', '/srv/data"', '""']
  const spaced = ['\r', '\n', ' ', '\u00a0'].map(end => `/srv/data${end}`)
  for (const text of [...quoted, ...spaced, ' /srv/data']) {
    for (const message of refusalsOf(text)) {
      t.match(message, /^DATA_DIR is ".*", which has .+ at an end: it must be the folder of .*; unset, it is \.\/data$/)
    }
  }
  t.end()
})

t.test('a DATA_DIR that begins with ~ or $ is refused, and one that has them elsewhere is not', t => {
  for (const text of ['~', '~/data', '~user/data', '$HOME/data', '$' + '{HOME}/data']) {
    for (const message of refusalsOf(text)) {
      t.match(message, /^DATA_DIR is ".*", which begins with what only a shell replaces: it must be the folder of /)
    }
  }
  for (const DATA_DIR of ['./~', '/srv/$data', '/srv/my "plants" of today', 'données']) {
    t.equal(readStoreLocation({ DATA_DIR }).DATA_DIR, DATA_DIR)
  }
  t.end()
})

t.test('a NODE_ENV that is none of Node\'s is refused: it would silently not be production', t => {
  const odd = ['"production"', 'production\r', ' production', 'Production', 'PRODUCTION', 'prod', 'staging', 'dev']
  for (const NODE_ENV of odd) {
    const message = refusalBy(() => readConfiguration({ NODE_ENV, ACCESS_TOKENS: token }))
    t.match(message, /^NODE_ENV is ".*": it must be production, development or test, or unset$/)
  }
  for (const NODE_ENV of [undefined, '', 'test', 'development', 'production']) {
    t.equal(readConfiguration({ NODE_ENV, ACCESS_TOKENS: token }).DOCS, NODE_ENV !== 'production')
  }
  t.end()
})

t.test('names that are nearly those of variables are found, and those of other programs are not', t => {
  const meant: Record<string, string[]> = {
    ACCESS_TOKENS: ['ACCESS_TOKEN', 'ACCESSTOKENS', 'access_tokens', 'ACESS_TOKENS', 'TOKENS', 'TOKEN', 'API_TOKENS'],
    ACCESS_TOKENS_FILE: ['ACCESS_TOKEN_FILE', 'ACCESS_TOKENS_FILES'],
    MONGODB_URL: ['MONGO_URL', 'MONGODB_URI', 'MONGO_URI', 'MONGODBURL', 'MONGODB_ULR'],
    MONGODB_URL_FILE: ['MONGO_URI_FILE'],
    PORT: ['port', 'PORTS'],
    DATA_DIR: ['DATADIR', 'DATA_PATH'],
    LOG_LEVEL: ['LOGLEVEL', 'LOG_LEVELS'],
    STORE_TIMEOUT: ['STORE_TIMEOUTS', 'STORE_TIMOUT'],
    TLS_CERT_FILE: ['TLS_CERT'],
    TRUST_PROXY: ['TRUST_PROXYS', 'TRUSTPROXY'],
    NODE_ENV: ['NODEENV']
  }
  for (const [name, others] of Object.entries(meant)) {
    for (const other of others) {
      t.strictSame(warningsOf({ [other]: 'x' }), [`${other} is not read; did you mean ${name}?`])
    }
  }
  const foreign = [
    'HOME', 'HOSTNAME', 'HOSTTYPE', 'PATH', 'PWD', 'LANG', 'TERM', 'SHLVL', 'LOGNAME', 'TMPDIR', 'SSL_CERT_FILE',
    'NODE_OPTIONS', 'NODE_PATH', 'NO_COLOR', 'http_proxy', 'HTTPS_PROXY', 'NO_PROXY', 'DATABASE_URL', 'REDIS_URL',
    'KUBERNETES_PORT', 'PLANT_STORE_PORT',
    'PLANT_STORE_SERVICE_HOST', 'METRICS_SERVICE_PORT', 'NOTIFY_SOCKET', 'INVOCATION_ID',
    'npm_config_loglevel', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'PM2_HOME', 'GITHUB_TOKEN', 'NPM_TOKEN', 'XDG_DATA_DIRS'
  ]
  const names = [...foreign, ...Object.keys(environment.properties)]
  t.strictSame(warningsOf(Object.fromEntries(names.map(name => [name, 'x']))), [])
  t.end()
})

t.test('the store is described with its database, and without credentials', t => {
  const describe = (MONGODB_URL: string) => describeStore({ MONGODB_URL, DATA_DIR: './data' })
  t.equal(describe(`mongodb://user:${SECRET}@a.example,b.example:27018/garden?replicaSet=rs0`),
    'MongoDB, a.example,b.example:27018, database garden')
  t.equal(describe('mongodb://a'), 'MongoDB, a, database plant_store')
  t.equal(describe('mongodb+srv://a.example/?tls=true'), 'MongoDB, a.example, database plant_store')
  t.end()
})

t.test('every other variable in quotes or with a carriage return is refused; white space around tokens is not', t => {
  const variables = {
    HOST: 'localhost',
    PORT: '3000',
    LOG_LEVEL: 'info',
    DOCS: 'true',
    REQUEST_ID_HEADER: 'x-request-id',
    TLS_CERT_FILE: '/tls.crt',
    MONGODB_URL: `mongodb://user:${SECRET}@host/`
  }
  for (const [name, value] of Object.entries(variables)) {
    for (const odd of [`"${value}"`, `'${value}'`, `${value}\r`]) {
      const message = refusalBy(() => readConfiguration({ [name]: odd }))
      t.match(message, new RegExp(`^${name} .*has .+ at an end: it must be `))
      t.notMatch(message, SECRET)
    }
  }
  const quoted = refusalBy(() => readConfiguration({ ACCESS_TOKENS: `"${token}"` }))
  t.match(quoted, /^ACCESS_TOKENS has a quotation mark at an end: /)
  t.strictSame(readConfiguration({ ACCESS_TOKENS: ` ${token}\r` }).ACCESS_TOKENS, [token])
  t.end()
})

t.test('LOG_LEVEL, BODY_LIMIT and QUEUE_LIMIT limit the log, a body, and pending create requests', async t => {
  const configuration = readConfiguration({ LOG_LEVEL: 'warn', BODY_LIMIT: '100', QUEUE_LIMIT: '1' })
  let release = (): void => {}
  const released = new Promise<'stored'>(resolve => { release = () => resolve('stored') })
  const service = await buildService(t, { create: async () => released }, { ...configuration, tokens: [TOKEN] })
  const plant = (bytes: number) => `{"id":0,"name":"${'x'.repeat(bytes - 18)}"}`
  const first = service.create(plant(100))
  t.equal((await service.create(plant(101))).statusCode, 413)
  t.equal((await service.create(plant(100))).statusCode, 503)
  release()
  t.equal((await first).statusCode, 200)

  const file = join(testFolder(t), 'log')
  const log = await createLogger(configuration, { fd: openSync(file, 'a'), isTTY: false } as typeof process.stdout)
  log.info('not written')
  log.warn('written')
  t.match(readFileSync(file, 'utf8'), /^[{].*"msg":"written"[}]\n$/)
})

t.test('secrets can be read from the files that ACCESS_TOKENS_FILE and MONGODB_URL_FILE name', async t => {
  const [ACCESS_TOKENS_FILE, MONGODB_URL_FILE] = [join(testFolder(t), 'tokens'), join(testFolder(t), 'mongodb-url')]
  writeFileSync(ACCESS_TOKENS_FILE, `${token}, of-16-characters\n`)
  writeFileSync(MONGODB_URL_FILE, 'mongodb://user:secret@host/\n')
  const { ACCESS_TOKENS, MONGODB_URL } = readConfiguration({ ACCESS_TOKENS_FILE, MONGODB_URL_FILE })
  t.strictSame([ACCESS_TOKENS, MONGODB_URL], [[token, 'of-16-characters'], 'mongodb://user:secret@host/'])
})
