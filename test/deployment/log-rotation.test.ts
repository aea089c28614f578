import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { needsProgram } from '../support/process/needs.js'
import { bare, create, program, projectFile, testFolder, token } from '../support/process/program.js'
import { until } from '../support/until.js'

t.test('after logrotate has copied and truncated the log, the service continues at the beginning of the file', needsProgram('logrotate'), async t => {
  const folder = testFolder(t)
  const log = join(folder, 'plant-store.log')
  // Every line must be JSON: NUL bytes, for example, would mean that the service kept writing at the old offset.
  const lines = (file = log) => readFileSync(file, 'utf8').split('\n').filter(line => line !== '').map(line => JSON.parse(line))
  const variables = { NODE_ENV: 'production', PORT: '0', DATA_DIR: folder, ACCESS_TOKENS: token, ACCESS_LOG: 'true' }
  // Appends, like `StandardOutput=append:`.
  const service = spawn('env', bare(variables, [process.execPath, program]), { stdio: ['ignore', openSync(log, 'a'), 'inherit'] })
  const exited = once(service, 'exit')
  t.teardown(() => service.kill('SIGKILL'))
  await until(() => lines().length > 0)
  const [{ address }] = lines()
  await create(address)
  await until(() => lines().length > 1)

  const configuration = readFileSync(projectFile('docs/deploy/logrotate'), 'utf8').replace('/var/log/plant-store/plant-store.log', log)
  writeFileSync(join(folder, 'logrotate'), configuration, { mode: 0o600 })
  execFileSync('logrotate', ['--force', '--state', join(folder, 'state'), join(folder, 'logrotate')])
  t.match(lines(`${log}.1`).at(-1), { msg: 'request', statusCode: 200 })
  t.strictSame(lines(), [])

  await create(address)
  await until(() => lines().length > 0)
  t.match(lines(), [{ msg: 'request', statusCode: 200 }])
  service.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
})
