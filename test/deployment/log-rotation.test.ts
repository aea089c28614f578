import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { needsProgram } from '../support/process/needs.js'
import { create, testFolder, token } from '../support/process/program.js'
import { program, projectFile } from '../support/process/project.js'

const withLogrotate = needsProgram('logrotate')

t.test('after logrotate has copied and truncated the log, the service continues at the beginning of the file', withLogrotate, async t => {
  const folder = testFolder(t)
  const log = join(folder, 'plant-store.log')
  // Appends, like `StandardOutput=append:`.
  const command = `exec env -i NODE_ENV=production PORT=0 DATA_DIR=${folder} ACCESS_TOKENS=${token} ACCESS_LOG=true ${process.execPath} ${program} >> ${log}`
  writeFileSync(log, '')
  const service = spawn('sh', ['-c', command], { stdio: 'inherit' })
  const exited = once(service, 'exit')
  t.teardown(() => service.kill('SIGKILL'))
  const configuration = join(folder, 'logrotate')
  writeFileSync(configuration, readFileSync(projectFile('docs/deploy/logrotate'), 'utf8').replace('/var/log/plant-store/plant-store.log', log), { mode: 0o600 })
  const { address } = await firstLine(log, 'ready at')
  await create(String(address))
  await firstLine(log, 'request')

  execFileSync('logrotate', ['--force', '--state', join(folder, 'state'), configuration])
  const before = lines(`${log}.1`)
  t.match(before.at(-1), { msg: 'request', statusCode: 200 })
  t.strictSame(lines(log), [])

  await create(String(address))
  await firstLine(log, 'request')
  t.equal(lines(log).length, 1)
  service.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
})

/** Every line must be JSON: NUL bytes, for example, would mean that the service kept writing at the old offset. */
function lines (file: string): Record<string, unknown>[] {
  return readFileSync(file, 'utf8').split('\n').filter(line => line !== '').map(line => JSON.parse(line))
}

async function firstLine (file: string, text: string): Promise<Record<string, unknown>> {
  for (const start = performance.now(); performance.now() - start < 20_000;) {
    const found = lines(file).find(({ msg }) => String(msg).startsWith(text))
    if (found !== undefined) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`no line "${text}" in ${file}`)
}
