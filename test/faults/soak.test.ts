import { existsSync } from 'node:fs'
import t from 'tap'
import { needs } from '../support/process/needs.js'
import { soak } from './soak.js'

t.test('at half of the full load every plant is stored, and the number of file descriptors stays constant', needs(existsSync('/proc/self/fd') ? undefined : '/proc is missing'), async t => {
  const { statuses, descriptors, samples } = await soak({ seconds: 4, connections: 8 })
  t.strictSame(Object.keys(statuses), ['200'], JSON.stringify(statuses))
  t.ok(descriptors.most - descriptors.least <= 1, `${descriptors.least} to ${descriptors.most}`)
  t.ok(samples.length > 10)
})
