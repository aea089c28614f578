import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { documented } from '../support/documented.js'
import { create, startService, testFolder } from '../support/process/program.js'

const OLD = 'the-old-access-token'
const ADD = documented('docs/operations.md', 'printf')
const RETIRE = documented('docs/operations.md', 'tail -n 1')

for (const [name, content] of [['a final newline', `${OLD}\n`], ['no final newline', OLD], ['several tokens on a line', `another-access-token, ${OLD}`]] as const) {
  t.test(`the documented rotation keeps each token intact, and the mode of the file: a file with ${name}`, async t => {
    const folder = testFolder(t)
    const file = join(folder, 'access-tokens')
    writeFileSync(file, content)
    chmodSync(file, 0o640)
    const service = await startService(t, { ACCESS_TOKENS_FILE: file, NODE_ENV: 'production' })
    const follow = async (recipe: string, times: number) => {
      execFileSync('bash', ['-euc', `systemctl () { kill -HUP ${service.pid}; }\n${recipe.replace('/etc/plant-store', folder)}`])
      await service.logged('SIGHUP', times)
      t.equal(statSync(file).mode & 0o777, 0o640)
    }
    const status = async (bearer: string) => (await create(service.address, { bearer })).status

    await follow(ADD, 1)
    const added = readFileSync(file, 'utf8').trim().split(/\s+/).at(-1) ?? ''
    t.match(added, /^[\da-f]{48}$/)
    t.strictSame([await status(OLD), await status(added)], [200, 200], 'both are accepted')

    await follow(RETIRE, 2)
    t.equal(readFileSync(file, 'utf8'), `${added}\n`)
    t.strictSame([await status(OLD), await status(added)], [401, 200], 'the old one is no longer accepted')
  })
}
