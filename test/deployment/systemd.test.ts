import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { needsProgram } from '../support/process/needs.js'
import { testFolder } from '../support/process/program.js'
import { projectFile } from '../support/process/project.js'

const withSystemd = needsProgram('systemd-analyze', 'systemd')
const unit = readFileSync(projectFile('docs/deploy/plant-store.service'), 'utf8')

t.test('systemd-analyze finds no errors in the unit, and a low exposure', withSystemd, async t => {
  const file = join(testFolder(t), 'plant-store.service')
  // Node may have another path here, which systemd would report as an error.
  writeFileSync(file, unit.replace('/usr/bin/node', process.execPath))
  const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
  t.strictSame([verified.status, verified.stdout + verified.stderr], [0, ''])
  // 0 is no exposure, 100 that of a unit without any hardening.
  const security = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', file], { encoding: 'utf8' })
  t.equal(security.status, 0)
})

t.test('the unit allows more time than the longest shutdown takes', async t => {
  const [, seconds] = /^TimeoutStopSec=(\d+)s$/m.exec(unit) ?? []
  // The longest shutdown of a service, and two seconds for its workers.
  t.ok(Number(seconds) > 27)
})
