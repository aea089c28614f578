import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { needsProgram } from '../support/process/needs.js'
import { projectFile, testFolder } from '../support/process/program.js'

const units = ['plant-store.service', 'plant-store@.service'] as const
const [single, template] = units.map(name => readFileSync(projectFile(`docs/deploy/${name}`), 'utf8')) as [string, string]

for (const name of units) {
  t.test(`systemd-analyze finds no errors in ${name}, and a low exposure`, needsProgram('systemd-analyze', 'systemd'), async t => {
    const file = join(testFolder(t), name)
    // Node may have another path here, which systemd would report as an error.
    writeFileSync(file, readFileSync(projectFile(`docs/deploy/${name}`), 'utf8').replace('/usr/bin/node', process.execPath))
    const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    t.strictSame([verified.status, verified.stdout + verified.stderr], [0, ''])
    // 0 is no exposure, 100 that of a unit without any hardening.
    t.equal(spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', file]).status, 0)
  })
}

t.test('the units differ only in where a process listens and stores, and allow more time than the longest shutdown', async t => {
  const own = /^(?:#|Description=|Environment=|StateDirectory|RuntimeDirectory|$)/
  const settings = (unit: string) => unit.split('\n').filter(line => !own.test(line))
  t.strictSame(settings(template), settings(single))
  t.ok(Number(/^TimeoutStopSec=(\d+)s$/m.exec(single)?.[1]) > 25)
})
